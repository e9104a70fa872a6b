/* Numbers of JSON: their form, and exact conversions that depend on no locale. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"
#include "json/scan.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *pass_digits(const char *at, const char *end) {
    while (at < end && is_digit(*at))
        at++;
    return at;
}

bool headwise_json_has_word(const char *at, const char *end, const char *word) {
    size_t size = strlen(word);
    return (size_t)(end - at) >= size && memcmp(at, word, size) == 0;
}

/* Takes digits, of which there must be one. */
static bool take_digits(const char **at, const char *end) {
    const char *begin = *at;
    *at = pass_digits(begin, end);
    return *at > begin;
}

static bool take_fraction_and_exponent(const char **at, const char *end) {
    if (*at < end && **at == '.') {
        ++*at;
        if (!take_digits(at, end))
            return false;
    }
    if (*at < end && (**at == 'e' || **at == 'E')) {
        ++*at;
        if (*at < end && (**at == '+' || **at == '-'))
            ++*at;
        return take_digits(at, end);
    }
    return true;
}

const char *headwise_json_scan_number(const char **at, const char *end,
                                      struct headwise_json_number *number) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    const char *begin = *at, *whole;
    number->is_finite = number->is_integer = false;
    bool may_be_word = !is_digit(*begin); /* most are digits; *begin is there */
    for (int i = 0; may_be_word && i < 3; i++) {
        if (headwise_json_has_word(begin, end, words[i])) {
            *at = begin + strlen(words[i]);
            number->raw = (struct headwise_json_slice){begin, strlen(words[i])};
            return NULL;
        }
    }
    if (*at < end && **at == '-')
        ++*at;
    whole = *at;
    if (!take_digits(at, end))
        return "expected a digit";
    if (*whole == '0' && *at > whole + 1) {
        *at = whole;
        return "a number begins with a superfluous 0";
    }
    const char *integer_end = *at;
    if (!take_fraction_and_exponent(at, end))
        return "expected a digit";
    number->is_finite = true;
    number->is_integer = *at == integer_end;
    number->raw = (struct headwise_json_slice){begin, (size_t)(*at - begin)};
    return NULL;
}

bool headwise_json_to_int64(const struct headwise_json_number *number, int64_t *value) {
    const char *at = number->raw.at, *end = at + number->raw.size;
    bool is_negative = *at == '-';
    int64_t sum = 0;
    if (!number->is_integer)
        return false;
    at += is_negative;
    for (const char *safe = end - at < 18 ? end : at + 18; at < safe; at++) /* below 10^18 */
        sum = sum * 10 + (*at - '0');
    sum = is_negative ? -sum : sum;
    for (; at < end; at++) {
        int64_t digit = is_negative ? '0' - *at : *at - '0';
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

/* 767 significant digits are the most that a number halfway between two doubles has; of what comes
 * after them it only matters whether it is 0. */
enum { MOST_DIGITS = 800 };

/* Beyond what the digits of a text in memory can make up for. */
static const int64_t most_exponent = INT64_C(1000000000000000000);

/* A number without its point: digits times 10 to the power exponent. */
struct digits {
    char text[MOST_DIGITS + 16];
    size_t n;
    bool is_cut; /* a digit that is not 0 was left out */
    int64_t exponent;
};

static void add_digits(struct digits *d, const char *at, const char *end, bool is_fraction) {
    for (; at < end; at++) {
        bool is_kept = d->n < MOST_DIGITS;
        if (is_kept && (d->n > 0 || *at != '0'))
            d->text[d->n++] = *at;
        d->is_cut = d->is_cut || (!is_kept && *at != '0');
        d->exponent += is_kept ? -(int64_t)is_fraction : !is_fraction;
    }
}

static int64_t read_exponent(const char *at, const char *end) {
    bool is_negative = at < end && *at == '-';
    int64_t exponent = 0;
    for (at += at < end && !is_digit(*at); at < end; at++)
        exponent = exponent < most_exponent / 10 ? exponent * 10 + (*at - '0') : exponent;
    return is_negative ? -exponent : exponent;
}

bool headwise_json_to_double(const struct headwise_json_number *number, double *value) {
    const char *at = number->raw.at, *end = at + number->raw.size;
    bool is_negative = *at == '-';
    struct digits d = {.n = 0};
    if (!number->is_finite)
        return false;
    at += is_negative;
    const char *point = pass_digits(at, end);
    add_digits(&d, at, point, false);
    if (point < end && *point == '.') {
        at = point + 1;
        point = pass_digits(at, end);
        add_digits(&d, at, point, true);
    }
    if (point < end)
        d.exponent += read_exponent(point + 1, end);
    if (d.is_cut) {
        d.text[d.n++] = '1';
        d.exponent--;
    }
    if (d.n == 0) {
        *value = is_negative ? -0.0 : 0.0;
        return true;
    }
    /* strtod rounds right, and reads no point, which is all that a locale changes. */
    d.exponent = d.exponent > 9999 ? 9999 : d.exponent < -9999 ? -9999 : d.exponent;
    snprintf(d.text + d.n, sizeof d.text - d.n, "e%d", (int)d.exponent);
    int old_error = errno;
    double magnitude = strtod(d.text, NULL);
    errno = old_error;
    if (!(magnitude <= 1.7976931348623157e308))
        return false;
    *value = is_negative ? -magnitude : magnitude;
    return true;
}
