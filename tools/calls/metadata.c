/* Reads numbers of heads, and lists of them, from a file's metadata. */
#include "calls/metadata.h"

#include "common/message.h"
#include "common/numbers.h"

int metadata_read_heads(int64_t *heads, const headwise_safetensors *file, int64_t given,
                        const char *key, const char *option) {
    const char *text = headwise_safetensors_metadata(file, key);
    *heads = given;
    if (!given && text && !integer_read_whole(heads, text))
        return fail("%s: metadata %s is \"%s\", expected a number of heads",
                    headwise_safetensors_path(file), key, text);
    if (*heads < 0 || (given && given < 1) || *heads > INT32_MAX)
        return fail("option %s is %lld, expected 1 or more", option, (long long)*heads);
    return EXIT_GOOD;
}

int metadata_read_list(const int64_t **list, struct arena *arena, const headwise_safetensors *file,
                       const char *key, int64_t n) {
    const char *text = headwise_safetensors_metadata(file, key), *rest = text;
    if (!text)
        return EXIT_GOOD;
    int64_t *numbers = arena_take(arena, n, sizeof *numbers);
    if (!numbers)
        return EXIT_UNUSABLE;
    for (int64_t i = 0; i < n; i++) {
        const char *end;
        if (!integer_read(&numbers[i], rest, &end) || *end != (i + 1 < n ? ',' : '\0'))
            return fail(
                "%s: metadata %s is \"%s\", expected %lld integers with commas between them",
                headwise_safetensors_path(file), key, text, (long long)n);
        rest = end + 1;
    }
    *list = numbers;
    return EXIT_GOOD;
}
