/* What programs that measure where a call's time goes need of a context: its kernels, to be read
 * and to be replaced by kernels that take the time around each call. It is the only header of this
 * folder that measure/ includes, and that tools/ gets through it. All of it is inline, because the
 * library's inner symbols are hidden from those programs; they are built together with the library,
 * whose context they look into. */
#ifndef HEADWISE_TIMING_H
#define HEADWISE_TIMING_H

#include "context/context.h"

/* Everything that a call with this context computes with. */
struct headwise_timing {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes */
};

static inline struct headwise_timing headwise_timing_get(const headwise_context *context) {
    return (struct headwise_timing){context->kernels, context->dot};
}

/* Calls that begin from now on use these tables, which must stay valid while they run. The tables
 * are the context's own ones with other functions: sizes of panels, the order of bytes in them and
 * the tier stay. Not while a call with the context runs. */
static inline void headwise_timing_set(headwise_context *context, struct headwise_timing timing) {
    context->kernels = timing.kernels;
    context->dot = timing.dot;
}

#endif
