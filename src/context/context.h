/* The context's inside. */
#ifndef HEADWISE_SRC_CONTEXT_H
#define HEADWISE_SRC_CONTEXT_H

#include "headwise/context.h"
#include "kernels/kernels.h"

struct headwise_context {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes, or NULL */
    int n_threads;
    headwise_parallel_for_fn *parallel_for;
    void *parallel_user;
    struct headwise_allocator allocator;
    void *scratch; /* aligned to HEADWISE_ALIGNMENT, or NULL */
    size_t scratch_bytes;
    struct headwise_context_info info; /* what a caller sees of it */
};

/* headwise_context_reserve for an int64_t size that may be negative (too large to compute): then,
 * and where memory runs out, HEADWISE_ERR_NO_MEMORY with the error text set. */
enum headwise_status headwise_context_grow(headwise_context *context, int64_t size_bytes);

#endif
