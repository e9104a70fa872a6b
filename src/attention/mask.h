/* Which keys a query sees. */
#ifndef HEADWISE_MASK_H
#define HEADWISE_MASK_H

#include "attention/call.h"
#include "kernels/kernels.h"

/* Keys lo ... hi-1; empty where lo >= hi. */
struct headwise_span {
    int64_t lo, hi;
};

/* Where in the block of n keys from first on the keys lie that queries i0 ... i1-1 of batch entry b
 * see: from the first such key to the last one, counted from first. What a mask's elements hide is
 * not looked at. */
struct headwise_span headwise_block_span(const struct headwise_call *call, int64_t b, int64_t i0,
                                         int64_t i1, int64_t first, int64_t n);

/* The keys that a window leaves to all queries of batch entry b together, without the first ones
 * that stay in sight. */
struct headwise_span headwise_window_span(const struct headwise_call *call, int64_t b);

/* Key blocks 0 ... first-1 and from ... end-1, in this order; first <= from <= end. */
struct headwise_blocks {
    int64_t first, from, end;
};

/* The blocks with keys that these queries see, by the same standard. */
struct headwise_blocks headwise_blocks_in_sight(const struct headwise_call *call, int64_t b,
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

/* Key number first minus the position of query i: how far ahead of the query that key stands. Held
 * within +-2^62. */
int64_t headwise_distance(const struct headwise_call *call, int64_t b, int64_t i, int64_t first);

/* Applies everything between the softcap and the softmax to the scores s of query i and head h for
 * keys first ... first+n-1: adds biases and a float mask, makes the scores of hidden keys -inf.
 * The keys lie in one key block. buffer holds HEADWISE_KEY_BLOCK floats. */
void headwise_mask_row(const struct headwise_call *call, const struct headwise_kernels *kernels,
                       float *s, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                       float *buffer);

#endif
