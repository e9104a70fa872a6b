/* Norms and sums of rows, one operation after the other. */
#ifndef TESTS_ROWS_H
#define TESTS_ROWS_H

#include <stddef.h>

#include "headwise/headwise.h"

/* The tier's fma(a, b, c): rounded once, or twice on scalar. */
float rows_fma(enum headwise_isa isa, float a, float b, float c);

/* y = norm(x) of one row of n numbers, in the order of kernels/kernels.h. */
void rows_norm(enum headwise_isa isa, const struct headwise_row_norm *norm, float *y,
               const float *x, size_t n);

/* A norm of one of 8 kinds: RMS or LAYER, with weights or none, bias or none, 1 + weights; its
 * arrays end at unreadable pages. */
struct test_rng;
struct headwise_row_norm rows_random_norm(struct test_rng *rng, int kind, size_t n);

#endif
