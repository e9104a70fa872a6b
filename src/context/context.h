/* The context's inside. */
#ifndef HEADWISE_SRC_CONTEXT_H
#define HEADWISE_SRC_CONTEXT_H

#include "context/work.h"
#include "headwise/context.h"
#include "kernels/kernels.h"

struct headwise_context {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes */
    int n_threads;
    headwise_parallel_for_fn *parallel_for;
    void *parallel_user;
    headwise_pool *pool; /* or NULL */
    struct headwise_stop stop;
    struct headwise_allocator allocator;
    void *scratch; /* aligned to HEADWISE_ALIGNMENT, or NULL */
    size_t scratch_bytes;
    struct headwise_context_info info; /* what a caller sees of it */
    atomic_bool busy; /* a call uses the scratch; only builds with assertions look at it */
};

/* Begins a call that needs size_bytes of scratch, which may be negative (too large to compute):
 * then, and where memory runs out, HEADWISE_ERR_NO_MEMORY with the error text set. In builds with
 * assertions HEADWISE_ERR_INVALID where another thread is in such a call. Where it fails the call
 * has not begun; else headwise_context_end() ends it. */
enum headwise_status headwise_context_begin(headwise_context *context, int64_t size_bytes);
void headwise_context_end(headwise_context *context);

#endif
