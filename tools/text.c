#define _XOPEN_SOURCE 700 /* wcwidth */
#include "text.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

void text_init(void) {
    /* Always there in glibc since 2.35, whatever the user's locale; character types only, so that
     * numbers are read and printed with a point. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
}

/* The length of the UTF-8 character at text and its width; a width of -1 where it cannot be shown.
 */
static int next_character(const char *text, int *width) {
    const unsigned char *c = (const unsigned char *)text;
    int length = c[0] < 0x80       ? 1
                 : c[0] >> 5 == 6  ? 2
                 : c[0] >> 4 == 14 ? 3
                 : c[0] >> 3 == 30 ? 4
                                   : 0;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = length <= 1 ? c[0] : c[0] & (0x7fu >> length);
    *width = -1;
    for (int i = 1; i < length; i++) {
        if (c[i] >> 6 != 2)
            return 1;
        code = code << 6 | (c[i] & 0x3f);
    }
    if (length == 0 || code < smallest[length] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 1;
    *width = wcwidth((wchar_t)code);
    return length;
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
