/* Reads UTF-8 and answers for characters, from utf8proc's tables and the differences from them. */
#include "text/unicode.h"

#include <string.h>
#include <utf8proc.h>

#include "text/unicode_table.h"

static unsigned category_class(uint32_t c) {
    const unsigned word = HEADWISE_CLASS_WORD;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return HEADWISE_CLASS_LETTER | word;
    case UTF8PROC_CATEGORY_MN:
        return HEADWISE_CLASS_MARK | HEADWISE_CLASS_NONSPACING | word;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return HEADWISE_CLASS_MARK | word;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
        return HEADWISE_CLASS_NUMBER | HEADWISE_CLASS_NUMERIC | word;
    case UTF8PROC_CATEGORY_NO:
        return HEADWISE_CLASS_NUMBER | HEADWISE_CLASS_NUMERIC;
    case UTF8PROC_CATEGORY_PC:
        return HEADWISE_CLASS_PUNCTUATION | word;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return HEADWISE_CLASS_PUNCTUATION;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return HEADWISE_CLASS_SPACE;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
        return HEADWISE_CLASS_CONTROL;
    default:
        return 0;
    }
}

unsigned headwise_text_class(uint32_t c) {
    if (c < 128)
        return headwise_text_ascii_class[c];
    unsigned class = category_class(c);
    if (!(headwise_text_changed_blocks[c >> 13] >> (c >> 8 & 31) & 1))
        return class;
    size_t low = 0, high = headwise_text_n_changed;
    while (low < high) { /* the last range that begins at or before c */
        size_t middle = low + (high - low) / 2;
        if (headwise_text_changed[middle].first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && c <= headwise_text_changed[low - 1].last) {
        class |= headwise_text_changed[low - 1].set;
        class &= ~(unsigned)headwise_text_changed[low - 1].clear;
    }
    return class;
}

size_t headwise_utf8_write(char *at, uint32_t c) {
    unsigned char *s = (unsigned char *)at;
    if (c < 0x80)
        return s[0] = (unsigned char)c, 1;
    if (c < 0x800) {
        s[0] = (unsigned char)(0xc0 | c >> 6);
        s[1] = (unsigned char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        s[0] = (unsigned char)(0xe0 | c >> 12);
        s[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        s[2] = (unsigned char)(0x80 | (c & 0x3f));
        return 3;
    }
    s[0] = (unsigned char)(0xf0 | c >> 18);
    s[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
    s[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    s[3] = (unsigned char)(0x80 | (c & 0x3f));
    return 4;
}

/* How many bytes from the beginning may belong to one character; *whole: they are one. The second
 * byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF. */
static size_t character_bytes(const unsigned char *s, size_t size, bool *whole) {
    unsigned low = 0x80, high = 0xbf;
    size_t wanted = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4)
        wanted = 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    size_t n = 1;
    while (n < wanted && n < size && s[n] >= low && s[n] <= high) {
        low = 0x80;
        high = 0xbf;
        n++;
    }
    *whole = wanted > 0 && n == wanted;
    return n;
}

size_t headwise_utf8_valid(const char *bytes, size_t size) {
    size_t at = 0;
    while (at < size) {
        uint64_t eight;
        while (at + 8 <= size) { /* ASCII, eight at a time */
            memcpy(&eight, bytes + at, 8);
            if (eight & 0x8080808080808080u)
                break;
            at += 8;
        }
        if (at == size)
            break;
        bool whole;
        size_t n = character_bytes((const unsigned char *)bytes + at, size - at, &whole);
        if (!whole)
            break;
        at += n;
    }
    return at;
}

size_t headwise_utf8_broken(const char *bytes, size_t size) {
    bool whole;
    return character_bytes((const unsigned char *)bytes, size, &whole);
}

static const struct headwise_text_shift *find_shift(const struct headwise_text_shift *rows,
                                                    size_t n, uint32_t c) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && c <= rows[low - 1].last ? &rows[low - 1] : NULL;
}

unsigned headwise_text_combining(uint32_t c) {
    if (c < 0x300)
        return 0;
    unsigned combining = (unsigned)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
    if (combining > 0 && find_shift(headwise_text_starters, headwise_text_n_starters, c))
        return 0;
    return combining;
}

size_t headwise_text_lower(uint32_t lower[HEADWISE_LOWER_MAX], uint32_t c) {
    if (c == 0x130) { /* the one letter that becomes two: i and a dot above */
        lower[0] = 'i';
        lower[1] = 0x307;
        return 2;
    }
    const struct headwise_text_shift *row =
        find_shift(headwise_text_lowered, headwise_text_n_lowered, c);
    lower[0] =
        row ? (uint32_t)((int32_t)c + row->value) : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    return 1;
}

size_t headwise_text_decompose(uint32_t parts[HEADWISE_DECOMPOSED_MAX], uint32_t c, bool compat) {
    parts[0] = c;
    if (c < 0xa0)
        return 1;
    const struct headwise_text_shift *row =
        find_shift(headwise_text_undivided, headwise_text_n_undivided, c);
    if (row && (compat || row->value == 1))
        return 1;
    utf8proc_int32_t found[HEADWISE_DECOMPOSED_MAX];
    int last_class = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)c, found, HEADWISE_DECOMPOSED_MAX,
        compat ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE, &last_class);
    if (n <= 0 || n > HEADWISE_DECOMPOSED_MAX)
        return 1;
    for (utf8proc_ssize_t i = 0; i < n; i++)
        parts[i] = (uint32_t)found[i];
    return (size_t)n;
}

uint32_t headwise_text_compose(uint32_t first, uint32_t second) {
    if (second < 0x300)
        return 0;
    utf8proc_int32_t pair[2] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second};
    if (utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1)
        return 0;
    const struct headwise_text_shift *row =
        find_shift(headwise_text_undivided, headwise_text_n_undivided, (uint32_t)pair[0]);
    return row && row->value == 1 ? 0 : (uint32_t)pair[0];
}
