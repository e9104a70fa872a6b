/* Row statistics, gathered block by block. */
#ifndef HEADWISE_SRC_STATS_H
#define HEADWISE_SRC_STATS_H

#include "block.h"

/* What is known of a row after some key blocks, relative to the tile's running max. */
struct headwise_row_state {
    float mass;                        /* sum of the numerators of keys (no sink) */
    float entropy;                     /* sum of numerator * (score - max) */
    float distance;                    /* sum of numerator * |j - p| */
    float self, previous, next, first; /* numerators of single keys */
    int64_t strongest;
    float strongest_score; /* its score: the largest of any key so far */
};

/* Before the first block. */
void headwise_stats_begin(const struct headwise_tile *tile);

/* Adds a block to rows r0 ... r1-1. numerators and raw are the tile's rows from r0 on, as after and
 * before the softmax, at positions x0 ... x1-1 of the block; block_max and block_sum are its
 * results; old_max holds the rows' max before the merge with this block, which gave alpha and beta.
 */
void headwise_stats_add(const struct headwise_tile *tile, int64_t block, const float *numerators,
                        const float *raw, const float *block_max, const float *block_sum,
                        const float *old_max, int64_t r0, int64_t r1, int64_t x0, int64_t x1);

/* Writes a row's statistics, given its final max, 1 / sum and log-sum-exp. */
void headwise_stats_finish(const struct headwise_tile *tile, int64_t row, float max, float inverse,
                           float lse);

#endif
