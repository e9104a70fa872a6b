/* Numerical ranks from singular values, and of products from their QR decompositions. */
#include "calls/rank.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "calls/lapack.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static bool widen(double *wide, const float *matrix, int64_t n_rows, int64_t n_columns,
                  int64_t row_stride) {
    for (int64_t i = 0; i < n_rows; i++) {
        for (int64_t j = 0; j < n_columns; j++) {
            float element = matrix[i * row_stride + j];
            if (!isfinite(element))
                return false;
            wide[i * n_columns + j] = element;
        }
    }
    return true;
}

/* Rows one after the other are LAPACK's columns: it sees the transposed matrix, whose singular
 * values are the same. */
static int64_t decompose(double *values, double *wide, int64_t n_rows, int64_t n_columns) {
    const struct lapack *lapack = lapack_get();
    double unused = 0.0;
    int m = (int)n_columns, n = (int)n_rows;
    if (!lapack)
        return RANK_NO_LAPACK;
    int info = lapack->dgesdd(LAPACK_COLUMNS, 'N', m, n, wide, m, values, &unused, 1, &unused, 1);
    if (info == LAPACK_NO_MEMORY)
        return RANK_NO_MEMORY;
    return info == 0 ? 0 : RANK_NOT_FOUND;
}

int64_t matrix_rank_values(double *values, const float *matrix, int64_t n_rows, int64_t n_columns,
                           int64_t row_stride) {
    int64_t n = smaller(n_rows, n_columns), longer = n_rows + n_columns - n;
    if (n == 0)
        return 0;
    /* Work sizes grow with 64 columns of the longer side and are 32-bit numbers too. */
    if (longer > INT32_MAX / 128 || n_rows > (int64_t)(PTRDIFF_MAX / 8) / n_columns)
        return RANK_TOO_LARGE;
    double *wide = malloc((size_t)(n_rows * n_columns) * sizeof *wide);
    if (!wide)
        return RANK_NO_MEMORY;
    int64_t rank = widen(wide, matrix, n_rows, n_columns, row_stride)
                       ? decompose(values, wide, n_rows, n_columns)
                       : RANK_NOT_FINITE;
    free(wide);
    if (rank != 0)
        return rank;
    double least = (double)longer * (double)FLT_EPSILON * values[0];
    while (rank < n && values[rank] > least)
        rank++;
    return rank;
}

int64_t matrix_rank(const float *matrix, int64_t n_rows, int64_t n_columns, int64_t row_stride) {
    int64_t n = smaller(n_rows, n_columns);
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof *values);
    if (!values)
        return RANK_NO_MEMORY;
    int64_t rank = matrix_rank_values(values, matrix, n_rows, n_columns, row_stride);
    free(values);
    return rank;
}

/* The upper triangle R of A = Q R, min(n_rows, n_inner) rows of n_inner, or a rank_failure. */
static int64_t triangle(double **r, const float *matrix, int64_t n_rows, int64_t n_inner,
                        int64_t row_stride) {
    int64_t n = smaller(n_rows, n_inner);
    const struct lapack *lapack = lapack_get();
    if (!lapack)
        return RANK_NO_LAPACK;
    if (n_rows + n_inner > INT32_MAX / 128)
        return RANK_TOO_LARGE;
    double *wide = calloc((size_t)(n_rows * n_inner + 1), sizeof *wide);
    double *scales = calloc((size_t)(n + 1), sizeof *scales);
    int64_t failure = 0;
    if (!wide || !scales)
        failure = RANK_NO_MEMORY;
    else if (!widen(wide, matrix, n_rows, n_inner, row_stride))
        failure = RANK_NOT_FINITE;
    else if (lapack->dgeqrf(LAPACK_ROWS, (int)n_rows, (int)n_inner, wide, (int)n_inner, scales) !=
             0)
        failure = RANK_NO_MEMORY;
    free(scales);
    for (int64_t i = 0; !failure && i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            wide[i * n_inner + j] = 0.0;
    }
    *r = wide;
    return failure;
}

/* R_A R_B^T, rounded to f32 (2^-24 of the greatest singular value: below the rule's least), with
 * the zeros that make its sides those of A B^T left out. */
static int64_t small_product_rank(const double *r_a, int64_t n_a, const double *r_b, int64_t n_b,
                                  int64_t n_inner, int64_t longer) {
    float *product = malloc((size_t)(n_a * n_b + 1) * sizeof *product);
    double *values = malloc((size_t)(smaller(n_a, n_b) + 1) * sizeof *values);
    int64_t rank = RANK_NO_MEMORY;
    for (int64_t i = 0; product && i < n_a; i++) {
        for (int64_t j = 0; j < n_b; j++) {
            double sum = 0.0;
            for (int64_t k = 0; k < n_inner; k++)
                sum += r_a[i * n_inner + k] * r_b[j * n_inner + k];
            product[i * n_b + j] = (float)sum;
        }
    }
    if (product && values)
        rank = matrix_rank_values(values, product, n_a, n_b, n_b);
    while (rank > 0 && !(values[rank - 1] > (double)longer * (double)FLT_EPSILON * values[0]))
        rank--;
    free(values);
    free(product);
    return rank;
}

int64_t product_rank(const float *a, int64_t n_rows, const float *b, int64_t n_columns,
                     int64_t n_inner, int64_t row_stride) {
    double *r_a = NULL, *r_b = NULL;
    if (n_rows == 0 || n_columns == 0 || n_inner == 0)
        return 0;
    int64_t rank = triangle(&r_a, a, n_rows, n_inner, row_stride);
    if (!rank)
        rank = triangle(&r_b, b, n_columns, n_inner, row_stride);
    if (!rank)
        rank = small_product_rank(r_a, smaller(n_rows, n_inner), r_b, smaller(n_columns, n_inner),
                                  n_inner, n_rows > n_columns ? n_rows : n_columns);
    free(r_a);
    free(r_b);
    return rank;
}

bool rank_is_available(void) {
    return lapack_get() != NULL;
}

const char *rank_failure_text(int64_t failure) {
    switch (failure) {
    case RANK_NO_MEMORY:
        return "out of memory";
    case RANK_NOT_FINITE:
        return "a number is infinite or NaN";
    case RANK_TOO_LARGE:
        return "it is too large for LAPACK's 32-bit sizes";
    case RANK_NO_LAPACK:
        return lapack_problem();
    default:
        return "its singular values were not found";
    }
}
