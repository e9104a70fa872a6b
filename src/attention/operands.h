/* The keys and values of one block as panels: packed from tensors, or those of a cache. */
#ifndef HEADWISE_OPERANDS_H
#define HEADWISE_OPERANDS_H

#include "attention/tile.h"
#include "tensors/rows.h"

/* One key block of a tile and what of it is packed. Positions within a block count from its first
 * key. */
struct headwise_block {
    const struct headwise_tile *tile;
    int64_t index;
    int64_t first_key;
    int64_t n_keys;
    int64_t lo, hi;  /* positions that any row needs */
    bool all_scores; /* scores of hidden keys are wanted */
    bool streams;    /* rows are few: each panel is used once: a packed one in the first panel's
                      * place, one of a narrow cache where it is */
    uint64_t packed; /* bit p: the key panel that begins at p * nr_min is packed */

    /* Whole value panels, [panel][KEY_BLOCK][columns]; NULL: those of a narrow cache are used.
     * Valid after headwise_block_fetch_values, as is what follows. */
    const float *values;
    struct headwise_f32_rows
        rows;            /* values from lo on in the caller's memory; data NULL: none are */
    int64_t packed_from; /* columns before this one are read there, panels hold the others */
    bool has_values;
    bool values_finite; /* all of lo ... hi-1 are finite, or no row has a key hidden from it */
};

/* Columns for the products: f32, or of a narrow cache and read as they are. */
struct headwise_panels {
    struct headwise_columns columns;
    enum headwise_dtype dtype;
};

/* Keys that one product takes from position c on, up to position end: one panel, or several that
 * lie side by side. */
int64_t headwise_block_key_width(const struct headwise_block *block, int64_t c, int64_t end);

/* The panels of those n keys. Columns of keys that the block does not need may hold anything. Valid
 * until the next call for the same block. */
struct headwise_panels headwise_block_keys(struct headwise_block *block, int64_t c, int64_t n);

/* Whether the rows are so few that keys of tensors are read as rows (key_rows.h) and transposed on
 * the way into the product. */
bool headwise_block_takes_key_rows(const struct headwise_block *block);

/* Finds out whether the values are finite, and packs or widens them where they are used more than
 * once, or have to be looked at because a key is hidden from some row. Few rows read f32 where they
 * lie. */
void headwise_block_fetch_values(struct headwise_block *block, bool hides);

/* n columns of the values from c on, one panel or whole panels, from row x0 on. Valid as above. */
struct headwise_panels headwise_block_values(const struct headwise_block *block, int64_t c,
                                             int64_t n, int64_t x0);

/* Those columns in panels that lie as a block's do: [panel][KEY_BLOCK][columns]. */
struct headwise_panels headwise_value_panels(const struct headwise_kernels *kernels,
                                             const float *values, int64_t c, int64_t n, int64_t x0);

#endif
