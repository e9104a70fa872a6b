/* Decodes UTF-8 and counts the columns of what is printed. */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "common/text.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

void text_init(void) {
    /* Always there in glibc since 2.35, whatever the user's locale; character types only, so that
     * numbers are read and printed with a point. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
}

/* The length of the UTF-8 character at text, of which left bytes are there, and its code; 0 where
 * there is none. */
static int decode(const char *text, size_t left, uint32_t *code) {
    const unsigned char *c = (const unsigned char *)text;
    int length = c[0] < 0x80       ? 1
                 : c[0] >> 5 == 6  ? 2
                 : c[0] >> 4 == 14 ? 3
                 : c[0] >> 3 == 30 ? 4
                                   : 0;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (length == 0 || (size_t)length > left)
        return 0;
    *code = length == 1 ? c[0] : c[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if (c[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (c[i] & 0x3f);
    }
    bool is_valid =
        *code >= smallest[length] && *code <= 0x10ffff && !(*code >= 0xd800 && *code < 0xe000);
    return is_valid ? length : 0;
}

/* The length of the character at text and its width, -1 where it cannot be shown. */
static int next_character(const char *text, int *width) {
    uint32_t code;
    int length = decode(text, 4, &code); /* stops at the NUL */
    *width = length > 0 ? wcwidth((wchar_t)code) : -1;
    return length > 0 ? length : 1;
}

char *text_clean(struct arena *arena, const char *bytes, size_t length) {
    char *clean = arena_take(arena, (int64_t)length + 1, 3); /* U+FFFD has three bytes */
    char *to = clean;
    const char *end = bytes + length;
    while (clean && bytes < end && *bytes) {
        uint32_t code;
        int n = decode(bytes, (size_t)(end - bytes), &code);
        memcpy(to, n > 0 ? bytes : "\xef\xbf\xbd", n > 0 ? (size_t)n : 3);
        to += n > 0 ? n : 3;
        bytes += n > 0 ? n : 1;
    }
    return clean;
}

int text_width(const char *text) {
    int total = 0, width;
    while (*text) {
        text += next_character(text, &width);
        total += width < 0 ? 1 : width;
    }
    return total;
}

void text_print(const char *text, int width) {
    int padding = width - text_width(text), columns;
    while (*text) {
        int length = next_character(text, &columns);
        if (columns < 0)
            putchar('?');
        else
            printf("%.*s", length, text);
        text += length;
    }
    for (int i = 0; i < padding; i++)
        putchar(' ');
}
