/* Row statistics, gathered block by block. */
#ifndef HEADWISE_SRC_STATS_H
#define HEADWISE_SRC_STATS_H

#include "attention/tile.h"

/* Before the first block. */
void headwise_stats_begin(const struct headwise_tile *tile);

/* The softmax of rows r0 ... r1-1 at positions x0 ... x1-1 of a block, and the block's own
 * statistics of them: a few rows at a time, so that scores are still in the L1 cache when their
 * numerators are there. scores holds the rows from r0 on. */
void headwise_stats_softmax(const struct headwise_tile *tile, int64_t block, float *scores,
                            int64_t r0, int64_t r1, int64_t x0, int64_t x1);

/* Joins what headwise_stats_softmax() found to what is known of the rows, after the merge of the
 * block's max and sum with the rows' own. */
void headwise_stats_join(const struct headwise_tile *tile, int64_t r0, int64_t r1);

/* Writes the statistics of all rows, given their 1 / sum. */
void headwise_stats_finish(const struct headwise_tile *tile, float *inverse);

#endif
