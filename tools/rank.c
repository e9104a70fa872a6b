#include "rank.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

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
    double unused = 0.0;
    lapack_int m = (lapack_int)n_columns, n = (lapack_int)n_rows;
    lapack_int info =
        LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', m, n, wide, m, values, &unused, 1, &unused, 1);
    if (info == LAPACK_WORK_MEMORY_ERROR)
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

const char *rank_failure_text(int64_t failure) {
    switch (failure) {
    case RANK_NO_MEMORY:
        return "out of memory";
    case RANK_NOT_FINITE:
        return "a number is infinite or NaN";
    case RANK_TOO_LARGE:
        return "it is too large for LAPACK's 32-bit sizes";
    default:
        return "its singular values were not found";
    }
}
