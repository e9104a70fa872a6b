/* Sums of f32 products in float64. */
#ifndef HEADWISE_FLOAT64_H
#define HEADWISE_FLOAT64_H

#include <stdint.h>

/* The sum of a[i] * b[i] and of a[i]. Eight partial sums, added in one order: the result depends on
 * n and the numbers alone. Every product of two f32 is exact. */
double headwise_dot_f64(const float *a, const float *b, int64_t n);
double headwise_total_f64(const float *a, int64_t n);

#endif
