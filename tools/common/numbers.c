/* Numbers by the C library's readers, without the spaces that those skip. */
#include "common/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool begins(const char *text) {
    return *text && !isspace((unsigned char)*text);
}

bool integer_read(int64_t *value, const char *text, const char **end) {
    char *rest;
    errno = 0;
    *value = strtoll(text, &rest, 10);
    *end = rest;
    return begins(text) && rest != text && errno == 0;
}

bool real_read(double *value, const char *text, const char **end) {
    char *rest;
    *value = strtod(text, &rest);
    *end = rest;
    return begins(text) && rest != text && isfinite(*value);
}

bool real_read_f32(float *value, const char *text, const char **end) {
    char *rest;
    *value = strtof(text, &rest);
    *end = rest;
    return begins(text) && rest != text && isfinite(*value);
}

bool integer_read_whole(int64_t *value, const char *text) {
    const char *end;
    return integer_read(value, text, &end) && !*end;
}

bool real_read_whole(double *value, const char *text) {
    const char *end;
    return real_read(value, text, &end) && !*end;
}
