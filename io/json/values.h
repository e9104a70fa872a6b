/* Texts and numbers as they stand in JSON. */
#ifndef HEADWISE_JSON_VALUES_H
#define HEADWISE_JSON_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/* size bytes of the text that is read. */
struct headwise_json_slice {
    const char *at;
    size_t size;
};

/* What stands between two quotes. */
struct headwise_json_text {
    struct headwise_json_slice raw; /* with its escapes */
    size_t size;                    /* bytes of UTF-8 that it stands for; no NUL is counted */
    bool has_escapes;               /* false: raw is already what it stands for */
    bool has_nul;                   /* \u0000 is in it: no C string can hold it */
    bool is_broken;                 /* an escape is half a surrogate pair: U+FFFD stands for it */
};

struct headwise_json_number {
    struct headwise_json_slice raw;
    bool is_integer; /* digits alone, with or without a minus */
    bool is_finite;  /* false: Infinity, -Infinity or NaN */
};

#endif
