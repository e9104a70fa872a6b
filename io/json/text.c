/* Texts of JSON: their form, their length, and the UTF-8 that they stand for. */
#include <string.h>

#include "json/reader.h"
#include "json/scan.h"

/* Bytes of a text that do not stand for themselves: control characters, quote, backslash, and parts
 * of longer characters. A table takes a third of the instructions of comparisons. */
static const bool is_special[256] = {
    [0x00 ... 0x1F] = true,
    ['"'] = true,
    ['\\'] = true,
    [0x80 ... 0xFF] = true,
};

/* Table 3-7 of the Unicode standard. */
size_t headwise_json_measure_character(const char *text, size_t n) {
    const unsigned char *at = (const unsigned char *)text;
    size_t size = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    unsigned char low = 0x80, high = 0xBF;
    if (at[0] < 0xC2 || at[0] > 0xF4 || size > n)
        return 0;
    if (at[0] == 0xE0)
        low = 0xA0;
    else if (at[0] == 0xED)
        high = 0x9F;
    else if (at[0] == 0xF0)
        low = 0x90;
    else if (at[0] == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < size; i++) {
        if (at[i] < low || at[i] > high)
            return 0;
        low = 0x80;
        high = 0xBF;
    }
    return size;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The number after "\u" at at, -1: no such escape is there. */
static long read_unit(const char *at, const char *end) {
    long unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The character that the escape at *at stands for; -1: none; *is_broken is set where it is half a
 * pair. */
static long read_escape(const char **at, const char *end, bool *is_broken) {
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found = end - *at >= 2 && (*at)[1] ? strchr(letters, (*at)[1]) : NULL;
    if (found) {
        *at += 2;
        return values[found - letters];
    }
    long unit = read_unit(*at, end);
    if (unit < 0)
        return -1;
    *at += 6;
    if (unit < 0xD800 || unit > 0xDFFF)
        return unit;
    long second = unit < 0xDC00 ? read_unit(*at, end) : -1;
    if (second < 0xDC00 || second > 0xDFFF) {
        *is_broken = true;
        return 0xFFFD;
    }
    *at += 6;
    return 0x10000 + (unit - 0xD800) * 0x400 + (second - 0xDC00);
}

const char *headwise_json_scan_text(const char **at, const char *end,
                                    struct headwise_json_text *text) {
    const char *begin = *at, *p = begin;
    *text = (struct headwise_json_text){0};
    for (;;) {
        const char *run = p;
        while (p < end && !is_special[(unsigned char)*p])
            p++;
        text->size += (size_t)(p - run);
        *at = p;
        if (p == end)
            return "the text ends before the closing quote";
        if (*p == '"')
            break;
        if (*p == '\\') {
            long c = read_escape(&p, end, &text->is_broken);
            if (c < 0)
                return "an unknown escape";
            text->size += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            text->has_escapes = true;
            text->has_nul = text->has_nul || c == 0;
        } else if ((unsigned char)*p < 0x20) {
            return "a control character in text, expected an escape";
        } else {
            size_t n = headwise_json_measure_character(p, (size_t)(end - p));
            if (n == 0)
                return "bytes that are not UTF-8";
            text->size += n;
            p += n;
        }
    }
    text->raw = (struct headwise_json_slice){begin, (size_t)(p - begin)};
    *at = p + 1;
    return NULL;
}

/* Writes a character as UTF-8; returns its bytes. */
static size_t encode(char dst[4], long c) {
    if (c < 0x80) {
        dst[0] = (char)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--) {
        dst[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    dst[0] = (char)(leads[size] | c);
    return size;
}

/* Steps through the bytes that a text stands for. */
struct decoder {
    const char *at, *end;
    char bytes[4];
    size_t n_bytes, n_used;
};

/* -1 at the end. */
static int next_byte(struct decoder *d) {
    bool is_broken;
    if (d->n_used < d->n_bytes)
        return (unsigned char)d->bytes[d->n_used++];
    if (d->at == d->end)
        return -1;
    if (*d->at != '\\')
        return (unsigned char)*d->at++;
    d->n_bytes = encode(d->bytes, read_escape(&d->at, d->end, &is_broken));
    d->n_used = 1;
    return (unsigned char)d->bytes[0];
}

static struct decoder decode(const struct headwise_json_text *text) {
    return (struct decoder){.at = text->raw.at, .end = text->raw.at + text->raw.size};
}

void headwise_json_copy(char *dst, const struct headwise_json_text *text) {
    if (!text->has_escapes) {
        if (text->size > 0) /* dst may be NULL for an empty text */
            memcpy(dst, text->raw.at, text->size);
        return;
    }
    struct decoder d = decode(text);
    for (int c; (c = next_byte(&d)) >= 0;)
        *dst++ = (char)c;
}

bool headwise_json_equals(const struct headwise_json_text *text, const char *word) {
    if (!text->has_escapes)
        return strncmp(text->raw.at, word, text->size) == 0 && word[text->size] == '\0';
    if (text->size != strlen(word) || text->has_nul || text->is_broken)
        return false;
    struct decoder d = decode(text);
    for (int c; (c = next_byte(&d)) >= 0;) {
        if ((unsigned char)*word++ != c)
            return false;
    }
    return true;
}

int headwise_json_compare(const struct headwise_json_text *a, const struct headwise_json_text *b) {
    struct decoder left = decode(a), right = decode(b);
    if (!a->has_escapes && !b->has_escapes) {
        int order = memcmp(a->raw.at, b->raw.at, a->size < b->size ? a->size : b->size);
        return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
    }
    for (;;) {
        int l = next_byte(&left), r = next_byte(&right);
        if (l != r || l < 0)
            return (l > r) - (l < r);
    }
}
