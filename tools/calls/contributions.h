/* Whether the heads' contributions sum to the layer's output. */
#ifndef HEADWISE_TOOLS_CONTRIBUTIONS_H
#define HEADWISE_TOOLS_CONTRIBUTIONS_H

#include "calls/layer_input.h"
#include "common/outputs.h"

/* Adds the contributions over the heads in f64, compares with y minus b_O, and prints the largest
 * difference and its share of the bound. With o a head's output, both sides are sums of o W_O: y in
 * one f32 sum of n = heads * value size products, a contribution in one of value size. So they
 * differ by at most (gamma(n + 1) + gamma(value size)) sum |o W_O| + u |b_O|, plus a rounding to
 * the type of y. EXIT_CHECK_FAILED beyond it. */
int contributions_check(const struct layer_input *layer, const struct headwise_file_tensor *y,
                        const float *head_outputs, const float *contributions, struct arena *arena);

#endif
