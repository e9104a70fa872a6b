/* Characters: UTF-8, classes, case, decomposition and composition.
 *
 * The tables are utf8proc's, with the differences of model/text/unicode_table.c: Hugging Face's
 * library sees marks, punctuation and compatibility forms as Unicode 8 and 9 had them, and letters,
 * numbers and case as Unicode 16 has them. */
#ifndef HEADWISE_TEXT_UNICODE_H
#define HEADWISE_TEXT_UNICODE_H

#include <stdbool.h>

#include "text/unicode_table.h"

enum {
    HEADWISE_CLASS_LETTER = 1,       /* \p{L} of a pattern */
    HEADWISE_CLASS_NUMBER = 2,       /* \p{N} of a pattern */
    HEADWISE_CLASS_SPACE = 4,        /* White_Space */
    HEADWISE_CLASS_MARK = 8,         /* M */
    HEADWISE_CLASS_NONSPACING = 16,  /* Mn */
    HEADWISE_CLASS_PUNCTUATION = 32, /* P, and the ASCII signs that are no letters or digits */
    HEADWISE_CLASS_CONTROL = 64,     /* Cc, Cf, Co and U+FFFD, but not tab, line feed and return */
    HEADWISE_CLASS_WORD = 128,       /* \w: letters, marks, decimal digits, connectors, joiners */
    HEADWISE_CLASS_NUMERIC = 256     /* N, newer than NUMBER */
};

/* The classes of a code point; of an ASCII character by a table. */
unsigned headwise_text_class(uint32_t c);

/* ---- UTF-8 ---- */

/* The size of the character that begins with this byte of valid UTF-8. */
static inline size_t headwise_utf8_size(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The code point at at in valid UTF-8; *size is its bytes. */
static inline uint32_t headwise_utf8_read(const char *at, size_t *size) {
    const unsigned char *s = (const unsigned char *)at;
    if (s[0] < 0x80)
        return *size = 1, s[0];
    if (s[0] < 0xe0)
        return *size = 2, (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    if (s[0] < 0xf0)
        return *size = 3, (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    return *size = 4,
           (s[0] & 7u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

/* Writes at most 4 bytes; returns how many. */
size_t headwise_utf8_write(char *at, uint32_t c);

/* Whether this byte is not the first one of a character. */
static inline bool headwise_utf8_continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How many of size bytes are valid UTF-8, from the beginning: size where all are. */
size_t headwise_utf8_valid(const char *bytes, size_t size);

/* How many bytes one U+FFFD stands for at an invalid place: the longest beginning of a character
 * that was cut off, at least 1 (as Unicode's chapter 3.9 recommends). */
size_t headwise_utf8_broken(const char *bytes, size_t size);

/* ---- Properties ---- */

enum { HEADWISE_LOWER_MAX = 2, HEADWISE_DECOMPOSED_MAX = 32 };

/* Canonical combining class: 0 for a character that begins something. */
unsigned headwise_text_combining(uint32_t c);

/* Lower case, without regard to what is around; returns 1 or 2 code points. */
size_t headwise_text_lower(uint32_t lower[HEADWISE_LOWER_MAX], uint32_t c);

/* Full decomposition, canonical or of compatibility; returns its number of code points. */
size_t headwise_text_decompose(uint32_t parts[HEADWISE_DECOMPOSED_MAX], uint32_t c, bool compat);

/* The character that two compose to; 0: they do not. */
uint32_t headwise_text_compose(uint32_t first, uint32_t second);

#endif
