/* The rotary table's inside. */
#ifndef HEADWISE_SRC_ROTARY_H
#define HEADWISE_SRC_ROTARY_H

#include "headwise/positions.h"
#include "kernels/kernels.h"

struct headwise_rotary {
    int64_t rotary_dim, n_positions;
    enum headwise_pairs pairs;
    double attention_factor;
    float *cos, *sin; /* [n_positions][rotary_dim / 2] */
    size_t table_bytes;
    struct headwise_rotary_info info; /* what a caller sees of it */
    struct headwise_allocator allocator;
};

/* Creates a table from a checked config whose defaults are filled in. */
enum headwise_status headwise_rotary_build(headwise_rotary **rotary, headwise_context *context,
                                           const struct headwise_rotary_config *config);

/* Turns m rows by one row of tables. pairs is a headwise_pairs. */
static inline headwise_rotate_fn *headwise_rotate_kernel(const struct headwise_kernels *kernels,
                                                         enum headwise_pairs pairs) {
    return pairs == HEADWISE_PAIRS_HALF ? kernels->rotate_half : kernels->rotate_interleaved;
}

#endif
