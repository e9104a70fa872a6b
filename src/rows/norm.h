/* Norms of rows as the kernels take them. */
#ifndef HEADWISE_SRC_ROWS_NORM_H
#define HEADWISE_SRC_ROWS_NORM_H

#include "headwise/rows.h"
#include "kernels/kernels.h"

/* A norm of rows of n numbers; kernel NULL: none. */
struct headwise_norm_ready {
    headwise_norm_fn *kernel;
    const float *weight, *bias;
    int64_t n;
    float eps;
};

/* Floats that the weights of a checked norm, or NULL, take where they are not as the kernels read
 * them. */
int64_t headwise_norm_floats(const struct headwise_row_norm *norm, int64_t n);

/* Makes a checked norm ready, its weights in these floats where they take some. norm NULL: none. */
struct headwise_norm_ready headwise_norm_prepare(const struct headwise_row_norm *norm,
                                                 const struct headwise_kernels *kernels, int64_t n,
                                                 float *floats);

/* y = norm(x), of m rows; y may be x with the same stride. */
void headwise_norm_run(const struct headwise_norm_ready *norm, float *y, int64_t y_stride,
                       const float *x, int64_t x_stride, int64_t m);

#endif
