/* Matches the expressions that nearly all byte-level tokenizers have. */
#include <string.h>

#include "text/pattern.h"
#include "text/unicode.h"

enum { LETTER = HEADWISE_CLASS_LETTER, NUMBER = HEADWISE_CLASS_NUMBER };
enum { SPACE = HEADWISE_CLASS_SPACE, WORD = HEADWISE_CLASS_WORD };
enum { SIGN = 0 }; /* of LETTER, NUMBER, SPACE none */

struct scan {
    const char *text;
    size_t size;
};

static unsigned class_at(const struct scan *scan, size_t at, size_t *size) {
    return headwise_text_class(headwise_utf8_read(scan->text + at, size));
}

/* The end of a run of characters that have, of the classes mask, exactly class; at most limit. */
static size_t run_end(const struct scan *scan, size_t at, unsigned mask, unsigned class,
                      size_t limit) {
    size_t size;
    while (at < scan->size && limit-- > 0 && (class_at(scan, at, &size) & mask) == class)
        at += size;
    return at;
}

static bool has(const struct scan *scan, size_t at, const char *word) {
    size_t size = strlen(word);
    return scan->size - at >= size && memcmp(scan->text + at, word, size) == 0;
}

/* 's 't 'm 'd 're 've 'll: the end, or at. The long s is an s where case does not count. */
static size_t contraction_end(const struct scan *scan, size_t at, bool any_case) {
    if (scan->text[at] != '\'' || at + 1 == scan->size)
        return at;
    char bits = any_case ? 0x20 : 0;
    char c = scan->text[at + 1] | (any_case && (unsigned char)scan->text[at + 1] < 0x80 ? bits : 0);
    char d = at + 2 < scan->size ? scan->text[at + 2] : ' ';
    if (any_case && (unsigned char)d < 0x80)
        d |= bits;
    if (c == 's' || c == 't' || c == 'm' || c == 'd')
        return at + 2;
    if ((c == 'r' && d == 'e') || (c == 'v' && d == 'e') || (c == 'l' && d == 'l'))
        return at + 3;
    return any_case && has(scan, at + 1, "\xC5\xBF") ? at + 3 : at;
}

/* \s+(?!\S)|\s+ : spaces, but not the last one before something else. */
static size_t spaces_end(const struct scan *scan, size_t at) {
    size_t end = run_end(scan, at, SPACE, SPACE, SIZE_MAX);
    if (end == scan->size)
        return end;
    size_t last = end - 1;
    while (headwise_utf8_continues(scan->text[last]))
        last--;
    return last > at ? last : end;
}

static size_t scan_gpt2(const struct scan *scan, size_t at) {
    size_t end = contraction_end(scan, at, false), size;
    if (end > at)
        return end;
    size_t from = at + (scan->text[at] == ' ');
    if (from < scan->size) {
        unsigned class = class_at(scan, from, &size) & (LETTER | NUMBER | SPACE);
        if (class != SPACE)
            return run_end(scan, from + size, LETTER | NUMBER | SPACE, class, SIZE_MAX);
    }
    return spaces_end(scan, at);
}

static bool is_line_end(char c) {
    return c == '\r' || c == '\n';
}

static size_t scan_cl100k(const struct scan *scan, size_t at, size_t n_digits) {
    const unsigned mask = LETTER | NUMBER | SPACE;
    size_t end = contraction_end(scan, at, true), size, next_size;
    if (end > at)
        return end;
    unsigned class = class_at(scan, at, &size) & mask;
    if (class == LETTER)
        return run_end(scan, at + size, mask, LETTER, SIZE_MAX);
    if (class == NUMBER)
        return run_end(scan, at, mask, NUMBER, n_digits);
    size_t next = at + size;
    unsigned next_class =
        next < scan->size ? class_at(scan, next, &next_size) & mask : (unsigned)SPACE;
    if (next_class == LETTER && !is_line_end(scan->text[at]))
        return run_end(scan, next + next_size, mask, LETTER, SIZE_MAX);
    if (class == SIGN || (scan->text[at] == ' ' && next_class == SIGN)) {
        end = run_end(scan, class == SIGN ? at : next, mask, SIGN, SIZE_MAX);
        while (end < scan->size && is_line_end(scan->text[end]))
            end++;
        return end;
    }
    end = run_end(scan, at, SPACE, SPACE, SIZE_MAX);
    for (size_t i = end; i > at; i--) {
        if (is_line_end(scan->text[i - 1]))
            return i;
    }
    return spaces_end(scan, at);
}

static size_t scan_clip(const struct scan *scan, size_t at) {
    const unsigned mask = LETTER | NUMBER | SPACE;
    if (has(scan, at, "<|startoftext|>"))
        return at + 15;
    if (has(scan, at, "<|endoftext|>"))
        return at + 13;
    size_t end = contraction_end(scan, at, false), size;
    if (end > at)
        return end;
    unsigned class = class_at(scan, at, &size) & mask;
    if (class == SPACE)
        return at;
    return class == NUMBER ? at + size : run_end(scan, at + size, mask, class, SIZE_MAX);
}

static size_t scan_words(const struct scan *scan, size_t at) {
    size_t size;
    unsigned class = class_at(scan, at, &size) & (WORD | SPACE);
    if (class == SPACE)
        return at;
    return class == 0 ? run_end(scan, at + size, WORD | SPACE, 0, SIZE_MAX)
                      : run_end(scan, at + size, WORD, WORD, SIZE_MAX);
}

size_t headwise_pattern_scan(const struct headwise_pattern *pattern, const char *text, size_t size,
                             size_t at) {
    const struct scan scan = {text, size};
    switch (pattern->kind) {
    case HEADWISE_PATTERN_GPT2:
        return scan_gpt2(&scan, at);
    case HEADWISE_PATTERN_CL100K:
        return scan_cl100k(&scan, at, pattern->n_digits);
    case HEADWISE_PATTERN_CLIP:
        return scan_clip(&scan, at);
    default:
        return scan_words(&scan, at);
    }
}
