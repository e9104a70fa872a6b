/* Writes regular expressions of Oniguruma's syntax in PCRE2's: what the two take for spaces and
 * letters of words differs. */
#include <string.h>

#include "text/pattern.h"

/* White_Space: PCRE2's \s has U+180E beside. */
static const char spaces[] = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                             "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
/* Alphabetic, M, Nd, Pc. */
static const char words[] =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}";

struct escape {
    char letter;
    const char *around[2]; /* the content, outside of a class */
    const char *content;
};

/* Outside of classes Oniguruma takes the numbers of Latin-1 for parts of words, too. */
#define NUMBERS "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

static const struct escape escapes[] = {
    {'s', {"[", "]"}, spaces},        {'S', {"[^", "]"}, spaces},
    {'w', {"[" NUMBERS, "]"}, words}, {'W', {"[^" NUMBERS, "]"}, words},
    {'h', {"[", "]"}, "0-9a-fA-F"},
};

bool headwise_pattern_translate(const struct headwise_allocator *memory,
                                struct headwise_bytes *pcre, struct headwise_text source) {
    bool good = headwise_bytes_append(memory, pcre, "", 0), in_class = false;
    for (size_t i = 0; good && i < source.size_bytes; i++) {
        const char *at = source.bytes + i;
        if (*at == '\\' && i + 1 < source.size_bytes) {
            const struct escape *escape = NULL;
            for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++) {
                if (escapes[k].letter == at[1] && !(in_class && escapes[k].around[0][1] == '^'))
                    escape = &escapes[k];
            }
            i++;
            if (!escape) {
                good = headwise_bytes_append(memory, pcre, at, 2);
                continue;
            }
            const char *before = in_class ? "" : escape->around[0];
            const char *after = in_class ? "" : escape->around[1];
            good = headwise_bytes_append(memory, pcre, before, strlen(before)) &&
                   headwise_bytes_append(memory, pcre, escape->content, strlen(escape->content)) &&
                   headwise_bytes_append(memory, pcre, after, strlen(after));
            continue;
        }
        if (!in_class && *at == '[') {
            in_class = true;
            size_t n = i + 1 < source.size_bytes && at[1] == '^' ? 2 : 1;
            n += i + n < source.size_bytes && at[n] == ']'; /* a bracket first is itself */
            good = headwise_bytes_append(memory, pcre, at, n);
            i += n - 1;
            continue;
        }
        if (in_class && *at == ']')
            in_class = false;
        good = headwise_bytes_append(memory, pcre, at, 1);
    }
    return good;
}
