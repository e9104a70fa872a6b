/* What a head does, in a few numbers per row, without storing its map. */
#ifndef HEADWISE_STATISTICS_H
#define HEADWISE_STATISTICS_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of the attention weights w[j] of every row, the caller's contiguous arrays [B][H][S],
 * NULL where not wanted. They are taken in the pass that computes y, from the weights before head
 * gates; they need O(S) memory and change no bit of y. p is the query's position on the axis of the
 * keys, so that j = p is the token itself. Where a sink takes part the weights of a row sum to less
 * than 1, and the sums below run over the keys alone. A row that sees no key has 0 everywhere and
 * -1 as strongest; a row with a NaN weight has NaN, and as strongest the key with the largest score
 * that is a number. */
struct headwise_statistics {
    size_t size; /* sizeof(struct headwise_statistics) */

    float *entropy;         /* -sum of w ln w, in nats: 0 (one key) to ln(visible keys) (uniform) */
    float *largest;         /* the largest weight */
    int64_t *strongest;     /* the key that has it, the lowest number among equal scores */
    float *mean_distance;   /* sum of w |j - p| */
    float *self_weight;     /* w[p], 0 where p is no key */
    float *previous_weight; /* w[p - 1] */
    float *next_weight;     /* w[p + 1] */
    float *first_weight;    /* w[0] */
};

#ifdef __cplusplus
}
#endif
#endif
