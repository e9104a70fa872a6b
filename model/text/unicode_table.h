/* Differences from utf8proc's tables, sorted by first code point, ranges that do not overlap. */
#ifndef HEADWISE_TEXT_UNICODE_TABLE_H
#define HEADWISE_TEXT_UNICODE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct headwise_text_changed {
    uint32_t first, last;
    uint16_t set, clear;
};

struct headwise_text_shift {
    uint32_t first, last;
    int32_t value;
};

extern const uint16_t headwise_text_ascii_class[128];
extern const uint32_t headwise_text_changed_blocks[136];
extern const struct headwise_text_changed headwise_text_changed[];
extern const size_t headwise_text_n_changed;
extern const struct headwise_text_shift headwise_text_lowered[];
extern const size_t headwise_text_n_lowered;
extern const struct headwise_text_shift headwise_text_undivided[];
extern const size_t headwise_text_n_undivided;
extern const struct headwise_text_shift headwise_text_starters[];
extern const size_t headwise_text_n_starters;

#endif
