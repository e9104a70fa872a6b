/* Splits values at their commas and refuses what does not belong there. */
#include "common/lists.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/numbers.h"

/* Whether the item of this length, spaces around it left out, is name. */
static bool is_item(const char *item, size_t length, const char *name) {
    while (length > 0 && *item == ' ') {
        item++;
        length--;
    }
    while (length > 0 && item[length - 1] == ' ')
        length--;
    return strlen(name) == length && strncmp(item, name, length) == 0;
}

bool list_has(const char *text, const char *name) {
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (is_item(text, length, name))
            return true;
        text += length + (text[length] == ',');
    }
    return false;
}

static int fail_name(const char *const *names, int n_names, const char *item, size_t length,
                     const char *source) {
    char expected[256] = "";
    int used = 0;
    for (int i = 0; i < n_names && used < (int)sizeof expected; i++)
        used += snprintf(expected + used, sizeof expected - (size_t)used, "%s%s", i ? ", " : "",
                         names[i]);
    return fail("%s has \"%.*s\", expected a list of %s", source, (int)(length < 64 ? length : 64),
                item, expected);
}

int list_read_names(bool *found, const char *const *names, int n_names, const char *text,
                    const char *source) {
    memset(found, 0, (size_t)n_names * sizeof *found);
    if (!text)
        return EXIT_GOOD;
    for (;;) {
        size_t length = strcspn(text, ",");
        int i = 0;
        while (i < n_names && !is_item(text, length, names[i]))
            i++;
        if (i == n_names)
            return fail_name(names, n_names, text, length, source);
        found[i] = true;
        if (!text[length])
            return EXIT_GOOD;
        text += length + 1;
    }
}

int list_read_numbers(float *numbers, int64_t n, const char *text, const char *source) {
    const char *rest = text;
    for (int64_t i = 0; i < n; i++) {
        const char *end;
        char expected = i + 1 < n ? ',' : '\0';
        if (!real_read_f32(&numbers[i], rest, &end) || *end != expected)
            return fail("%s is \"%s\", expected %lld finite numbers with commas between them",
                        source, text, (long long)n);
        rest = end + 1;
    }
    return EXIT_GOOD;
}

int list_read_integers(int64_t *values, int *n, int most, const char *text, const char *source,
                       int64_t high) {
    const char *rest = text;
    for (*n = 0;; rest++) {
        const char *end;
        int64_t value;
        if (!integer_read(&value, rest, &end) || (*end && *end != ','))
            return fail("%s is \"%s\", expected integers with commas between them", source, text);
        if (value < 1 || value > high)
            return fail("%s has %lld, expected 1 to %lld", source, (long long)value,
                        (long long)high);
        if (*n > 0 && value <= values[*n - 1])
            return fail("%s has %lld after %lld, expected increasing numbers", source,
                        (long long)value, (long long)values[*n - 1]);
        if (*n == most)
            return fail("%s has more than %d numbers", source, most);
        values[(*n)++] = value;
        rest = end;
        if (!*rest)
            return EXIT_GOOD;
    }
}
