/* Products of rows that are rounded to bytes on the way (dynamic_int8). */
#ifndef HEADWISE_DYNAMIC_H
#define HEADWISE_DYNAMIC_H

#include "linear/matrix.h"

/* m rows of x at work, at most HEADWISE_MOST_PROJECT_ROWS. What begins with these sizes is in
 * scratch then. */
struct headwise_dynamic {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot;
    const float *x;
    int64_t x_stride, m;
    int64_t n;     /* components of a row */
    int64_t group; /* of them that are rounded alike (matrix.h); 0: all */
    float *scratch;
    struct headwise_dot_state *state; /* zero at first, released by _end */
};

/* After the last product. */
void headwise_dynamic_end(const struct headwise_dynamic *dynamic);

/* Scratch, in floats. */
int64_t headwise_dynamic_floats(const struct headwise_kernels *kernels);

/* Components that are rounded at once, a multiple of what lies together in panels and of a group:
 * as many as the scratch has room for. */
int64_t headwise_dynamic_inputs(const struct headwise_dynamic *dynamic);

/* Finds how each row is rounded, unless its groups are rounded apart. */
void headwise_dynamic_begin(const struct headwise_dynamic *dynamic);

/* Rounds k components, at most headwise_dynamic_inputs(), from t on of each row, t a multiple of
 * what lies together and of a group; groups are measured before. */
void headwise_dynamic_round(const struct headwise_dynamic *dynamic, int64_t t, int64_t k);

/* y = slice of a product (matrix.h) of these components, of one panel. Between calls y holds
 * integers, or, where there are groups, floats. */
void headwise_dynamic_multiply(const struct headwise_dynamic *dynamic,
                               const struct headwise_matrix_slice *slice, float *y,
                               int64_t y_stride);

/* out = what the components first ... first + k - 1 alone add to the product, without bias: rows of
 * matrix->n floats. Together such parts sum to the product, as they are of the integers that it is
 * made of; over groups up to the rounding of f32 sums. tile: m rows of nr floats. */
void headwise_dynamic_contribute(const struct headwise_dynamic *dynamic,
                                 const struct headwise_matrix *matrix, int64_t first, int64_t k,
                                 float *tile, float *out);

#endif
