/* Text in a picture: what XML cannot hold, and how wide names are. */
#include "inspect/svg_text.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_LETTERS = 12 }; /* of a name */

void svg_print_text(FILE *out, const char *text, int n) {
    int printed = 0;
    for (const char *c = text; *c; c++) {
        bool begins = ((unsigned char)*c & 0xc0) != 0x80;
        if (begins && printed++ == n) {
            fprintf(out, "…");
            return;
        }
        if (*c == '&' || *c == '<' || *c == '>' || *c == '"')
            fprintf(out, "&#%d;", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            fprintf(out, "·");
        else if (strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0)
            fprintf(out, "·"), c += 2; /* U+FFFE and U+FFFF */
        else
            putc(*c, out);
    }
}

void svg_print_token(FILE *out, const char *token) {
    size_t blank = strspn(token, " ");
    char copy[256];
    if (!token[blank]) {
        fprintf(out, blank > 0 ? "␣" : "∅");
        return;
    }
    snprintf(copy, sizeof copy, "%s", token + blank);
    size_t length = strlen(copy);
    while (length > 0 && copy[length - 1] == ' ')
        copy[--length] = '\0';
    /* A name of 255 bytes may end within a character, but never within the first
     * letters. */
    svg_print_text(out, copy, MOST_LETTERS);
}

double svg_names_width(const char *const *names, int64_t n, double size) {
    double longest = 0;
    for (int64_t i = 0; i < n; i++) {
        double width = 0;
        int letters = 0;
        for (const char *c = names[i]; *c && letters < MOST_LETTERS; c++) {
            letters += ((unsigned char)*c & 0xc0) != 0x80;
            width += (unsigned char)*c < 0x80 ? 0.6 : ((unsigned char)*c & 0xc0) != 0x80 ? 1 : 0;
        }
        longest = width > longest ? width : longest;
    }
    return longest * size + 8;
}
