/* Which keys a query sees. */
#ifndef HEADWISE_VISIBILITY_H
#define HEADWISE_VISIBILITY_H

#include "attention/call.h"

static inline int64_t headwise_clamp(int64_t x, int64_t lo, int64_t hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

/* How far query i of batch entry b stands ahead of key j, held within int64_t: offsets may be any
 * int64_t, so a query's position may lie beyond. */
int64_t headwise_query_ahead(const struct headwise_call *call, int64_t b, int64_t i, int64_t j);

/* Keys lo ... hi-1; empty where lo >= hi. */
struct headwise_span {
    int64_t lo, hi;
};

/* Keys lo ... hi-1, and before them 0 ... first-1; first <= lo. */
struct headwise_visible {
    int64_t first, lo, hi;
};

/* What lengths, causal, window and the mask's length leave to query i of batch entry b, within
 * [0, n_keys]. All three ends grow with i, so queries i0 ... i1-1 together see the first of i1-1,
 * and from the lo of i0 to the hi of i1-1. */
struct headwise_visible headwise_visible_keys(const struct headwise_call *call, int64_t b,
                                              int64_t i);

/* Where in the block of n keys from first on the keys lie that queries i0 ... i1-1 of batch entry b
 * see: from the first such key to the last one, counted from first. What a mask's elements hide is
 * not looked at. */
struct headwise_span headwise_block_span(const struct headwise_call *call, int64_t b, int64_t i0,
                                         int64_t i1, int64_t first, int64_t n);

/* The keys that a window leaves to all queries of batch entry b together, without the first ones
 * that stay visible. */
struct headwise_span headwise_window_span(const struct headwise_call *call, int64_t b);

/* Key blocks 0 ... first-1 and from ... end-1, in this order; first <= from <= end. */
struct headwise_blocks {
    int64_t first, from, end;
};

/* The blocks with keys that these queries see, by the same standard. */
struct headwise_blocks headwise_visible_blocks(const struct headwise_call *call, int64_t b,
                                               int64_t i0, int64_t i1);

static inline int64_t headwise_blocks_count(struct headwise_blocks blocks) {
    return blocks.first + blocks.end - blocks.from;
}

/* The n-th of them. */
static inline int64_t headwise_blocks_at(struct headwise_blocks blocks, int64_t n) {
    return n < blocks.first ? n : n - blocks.first + blocks.from;
}

/* The most keys that n queries can see wherever they stand: `first` at the beginning and `window`
 * in a row. Without a window on both sides that is n_keys in a row. */
struct headwise_reach {
    int64_t first, window;
};

struct headwise_reach headwise_reach_of(const struct headwise_call *call, int64_t n);

/* Whether each of these queries sees all of these keys, by the same standard. */
bool headwise_all_visible(const struct headwise_call *call, int64_t b, int64_t i0, int64_t i1,
                          int64_t first, int64_t n);

/* How far key number first stands ahead of query i, held within +-2^62. */
int64_t headwise_distance(const struct headwise_call *call, int64_t b, int64_t i, int64_t first);

#endif
