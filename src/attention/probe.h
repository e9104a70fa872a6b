/* Writing out what the caller asked to see. */
#ifndef HEADWISE_SRC_PROBE_H
#define HEADWISE_SRC_PROBE_H

#include <math.h>

#include "attention/tile.h"

/* Before a tile's first block: no block has a maximum yet. */
void headwise_probe_begin(const struct headwise_tile *tile);

/* Of a block's keys, those at positions outside x0 ... x1-1 (x0 = x1 = 0: all) are computed for
 * none of rows r0 ... r1-1: their weights become 0, their scores -inf. Every block of every row
 * comes by here, so that nothing needs to be cleared before. */
void headwise_probe_unseen(const struct headwise_tile *tile, int64_t block, int64_t r0, int64_t r1,
                           int64_t x0, int64_t x1);

/* Asks for the memory that headwise_probe_numerators() will write at these positions, so that it
 * comes from beyond the second cache while their scores are computed: with it weights cost 25 to 29
 * % of a forward pass of 16 heads of 64 and 512 tokens on an AVX-512 server, without it 38 %. */
void headwise_probe_fetch(const struct headwise_tile *tile, int64_t block, int64_t r0, int64_t r1,
                          int64_t x0, int64_t x1);

/* Stores n scores from key first on, where they are wanted at this stage. */
void headwise_probe_scores(const struct headwise_call *call, enum headwise_score_stage stage,
                           const float *s, int64_t b, int64_t h, int64_t i, int64_t first,
                           int64_t n);

/* Keeps a block's softmax numerators of rows r0 ... r1-1 at positions x0 ... x1-1 where the weights
 * will be, and the rows' block maxima. scores is the tile's, row r0 first. */
void headwise_probe_numerators(const struct headwise_tile *tile, int64_t block, const float *scores,
                               const float *block_max, int64_t r0, int64_t r1, int64_t x0,
                               int64_t x1);

/* Ends one row: numerators become weights, with maxima the row's n_blocks block maxima, and go
 * where they are wanted. factors holds n_blocks floats. */
void headwise_probe_finish_row(const struct headwise_tile *tile, int64_t row, const float *maxima,
                               float max, float inverse, float *factors);

/* The tiers' instructions make NaN of either sign: this is the one that all of them write. */
static inline float headwise_one_nan(float x) {
    return isnan(x) ? NAN : x;
}

#endif
