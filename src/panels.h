/* The keys and values of one block as panels: packed from tensors, or those of a cache. */
#ifndef HEADWISE_PANELS_H
#define HEADWISE_PANELS_H

#include "block.h"

/* One key block of a tile and what of it is packed. Positions within a block count from its first
 * key. */
struct headwise_block {
    const struct headwise_tile *tile;
    int64_t index;
    int64_t first_key;
    int64_t n_keys;
    int64_t lo, hi;  /* positions that any row needs */
    bool all_scores; /* scores of hidden keys are wanted */
    bool streams;    /* rows are few: each panel is used once, in the first panel's place */
    uint64_t packed; /* bit p: the key panel that begins at p * nr_min is packed */

    /* Whole value panels, [panel][KEY_BLOCK][columns]; NULL: each is fetched where it is used.
     * Valid after headwise_block_fetch_values. */
    const float *values;
    bool has_values;
    bool values_finite; /* all of lo ... hi-1 are finite */
};

/* Width of the key panel that begins at position c. */
int headwise_block_key_width(const struct headwise_block *block, int64_t c);

/* The key panel of n columns that begins at position c. Columns of keys that the block does not
 * need may hold anything. Valid until the next call for the same block. */
const float *headwise_block_keys(struct headwise_block *block, int64_t c, int n);

/* Finds out whether the values are finite, and packs them where they are used more than once. */
void headwise_block_fetch_values(struct headwise_block *block);

/* Rows x0 ... x1-1 of the value panel of n columns that begins at column c; row t is at t * n of
 * what is returned. Valid as above. */
const float *headwise_block_values(struct headwise_block *block, int64_t c, int n, int64_t x0,
                                   int64_t x1);

#endif
