/* The time of a layer on each tier. */
#ifndef HEADWISE_TOOLS_TIMING_H
#define HEADWISE_TOOLS_TIMING_H

#include "calls/layer_input.h"
#include "common/options.h"

/* Runs the forward n_repeats times (once more before, to warm up) on every usable tier, or on that
 * of used alone where only_used, and prints the least and the median time. call is
 * one of the layer, whose y is not written. */
int timing_print(const struct layer_input *layer, const struct headwise_attention_call *call,
                 enum headwise_isa used, bool only_used, struct option_integer threads,
                 int64_t n_repeats, struct arena *arena);

#endif
