/* How many directions a matrix has. */
#ifndef HEADWISE_TOOLS_RANK_H
#define HEADWISE_TOOLS_RANK_H

#include <stdbool.h>
#include <stdint.h>

/* What matrix_rank returns instead of a rank; its message says which. */
enum rank_failure {
    RANK_NO_MEMORY = -1,
    RANK_NOT_FINITE = -2, /* an element is infinite or NaN */
    RANK_TOO_LARGE = -3,  /* a side, or the work LAPACK needs for it, is beyond 2^31 - 1 */
    RANK_NOT_FOUND = -4,  /* the decomposition did not converge */
    RANK_NO_LAPACK = -5   /* LAPACK's library is not there: rank_is_available() is false */
};

/* Whether LAPACK's library is there. Without it every rank of a matrix with elements is
 * RANK_NO_LAPACK: ask before the work. */
bool rank_is_available(void);

/* The numerical rank of an f32 matrix: the number of its singular values s that are greater than
 *   max(n_rows, n_columns) * 2^-23 * (the greatest s),
 * which is what is left of a value of 0 after its elements were rounded to f32, and the rule of
 * numpy.linalg.matrix_rank and torch.linalg.matrix_rank for this type. The values themselves are
 * computed in f64, so that the solver's own rounding (2^-52) does not count.
 *
 * Element (i, j) is matrix[i * row_stride + j]; row_stride is n_columns or more. A side of 0, and a
 * matrix of zeros, have rank 0. Takes 8 * n_rows * n_columns bytes, and LAPACK's work of about
 * 64 * (n_rows + n_columns) * 8, while it runs; about 3 * n_rows * n_columns * min(n_rows,
 * n_columns) operations. May be called from several threads.
 * Returns the rank, or a rank_failure. */
int64_t matrix_rank(const float *matrix, int64_t n_rows, int64_t n_columns, int64_t row_stride);

/* Gives the singular values too, greatest first: min(n_rows, n_columns) numbers into values,
 * which are not defined after a failure. */
int64_t matrix_rank_values(double *values, const float *matrix, int64_t n_rows, int64_t n_columns,
                           int64_t row_stride);

/* The numerical rank of A B^T (n_rows x n_columns), of A (n_rows x n_inner) and B (n_columns x
 * n_inner), both with row_stride as above: the logits of a head from its queries and keys, without
 * forming them. By the QR decompositions of A and B in f64, whose small factors have the product's
 * singular values; the same rule with the sizes of A B^T. Takes 8 * (n_rows + n_columns) * n_inner
 * bytes and about 2 * (n_rows + n_columns) * n_inner^2 operations. */
int64_t product_rank(const float *a, int64_t n_rows, const float *b, int64_t n_columns,
                     int64_t n_inner, int64_t row_stride);

/* "a number is infinite or NaN", for a rank_failure. */
const char *rank_failure_text(int64_t failure);

#endif
