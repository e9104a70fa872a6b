/* Products of rows that are rounded to integers on the way (dynamic_int8). */
#ifndef HEADWISE_DYNAMIC_H
#define HEADWISE_DYNAMIC_H

#include "linear/matrix.h"

/* Most rows at work together. */
enum { HEADWISE_DYNAMIC_ROWS = HEADWISE_MOST_PROJECT_ROWS };

/* Inputs that are rounded at once, a multiple of 4. Sums of so many products of integers up to 127
 * and 128 are below 2^24, so that f32 holds them exactly. Few rows take more inputs, for long
 * stretches of a panel to be read on end. */
static inline int64_t headwise_dynamic_inputs(int64_t m) {
    return m <= 24 ? 1024 : 256;
}

/* Most inputs of a matrix: sums fit 32 bits. */
enum { HEADWISE_DYNAMIC_MOST = 131072 };

/* m rows of x at work. */
struct headwise_dynamic {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes, or NULL: of f32 */
    const float *x;
    int64_t x_stride, m;
    float *scratch;
};

/* Scratch, in floats. */
int64_t headwise_dynamic_floats(const struct headwise_kernels *kernels);

/* Finds the scale of each row, from its first n components. */
void headwise_dynamic_begin(const struct headwise_dynamic *dynamic, int64_t n);

/* Rounds k components, at most headwise_dynamic_inputs(m), from t on of each row. */
void headwise_dynamic_round(const struct headwise_dynamic *dynamic, int64_t t, int64_t k);

/* y = slice of a product (matrix.h) of these components. Between calls y holds integers. */
void headwise_dynamic_multiply(const struct headwise_dynamic *dynamic,
                               const struct headwise_matrix_slice *slice, float *y,
                               int64_t y_stride);

#endif
