/* The register tile that scores, values and project share. */
#ifndef HEADWISE_SCALAR_GEMM_H
#define HEADWISE_SCALAR_GEMM_H

#include "vec.h"

/* acc[i][j] continues its chain over t = 0 ... k-1. rows and n are constants at every call. */
static inline __attribute__((always_inline)) void
accumulate(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride, const float *restrict b,
           int rows, int n, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        for (int i = 0; i < rows; i++) {
            float x = a[i * a_stride + t];
            for (int j = 0; j < n; j++)
                acc[i][j] = multiply_add(x, b[t * n + j], acc[i][j]);
        }
    }
}

static inline void accumulate_tile(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride,
                                   const float *restrict b, int rows, int n, ptrdiff_t k) {
    if (rows == MR && n == NR)
        accumulate(acc, a, a_stride, b, MR, NR, k);
    else if (n == NR)
        accumulate(acc, a, a_stride, b, rows, NR, k);
    else
        accumulate(acc, a, a_stride, b, rows, NR_MIN, k);
}

static inline int tile_rows(ptrdiff_t rows_left) {
    return rows_left < MR ? (int)rows_left : MR;
}

#endif
