/* The end of rows: residual, sum and norm, one row after the other. */
#ifndef HEADWISE_ROWS_END_H
#define HEADWISE_ROWS_END_H

#include "rows/norm.h"

/* A matrix of rows in the caller's memory. */
struct headwise_row_view {
    float *data; /* or NULL */
    int64_t stride;
};

/* What becomes of rows t of n numbers:
 *   sum = t + residual, y = norm(sum); or, with norm_first, y = norm(t) + residual.
 * Each of residual, sum and norm may be missing. y and sum may each be t or residual. */
struct headwise_row_end {
    const struct headwise_kernels *kernels;
    int64_t n;
    struct headwise_row_view residual, y, sum;
    struct headwise_norm_ready norm;
    bool norm_first;
};

/* Rows first ... first + m - 1, t being the first of them. With norm_first where y is residual, t
 * is overwritten. */
void headwise_row_end_run(const struct headwise_row_end *end, float *t, int64_t t_stride,
                          int64_t first, int64_t m);

/* The end of n columns from c on alone, of rows that have no norm. */
struct headwise_row_end headwise_row_end_columns(const struct headwise_row_end *end, int64_t c,
                                                 int64_t n);

#endif
