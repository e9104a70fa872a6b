/* The register tile that scores, values and project share. */
#ifndef HEADWISE_SCALAR_GEMM_H
#define HEADWISE_SCALAR_GEMM_H

#include "widen.h"

/* What the elements of a panel are and which scales they have: a constant at every call. */
enum element { F32, F16, BF16, I8, KEYS_I8, VALUES_I8 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Row t of a panel of n columns, in buffer unless it is f32. */
ALWAYS_INLINE const float *load_row(float buffer[NR], const void *b, const float *scales,
                                    ptrdiff_t t, int n, enum element element) {
    if (element == F32)
        return (const float *)b + t * n;
    const uint16_t *halves = (const uint16_t *)b + t * n;
    const int8_t *integers = (const int8_t *)b + t * n;
    for (int j = 0; j < n; j++) {
        if (element == F16)
            buffer[j] = widen_one_f16(halves[j]);
        else if (element == BF16)
            buffer[j] = widen_one_bf16(halves[j]);
        else if (element == I8)
            buffer[j] = (float)integers[j];
        else if (element == KEYS_I8)
            buffer[j] = (float)integers[j] * scales[t / HEADWISE_SCALE_GROUP * n + j];
        else
            buffer[j] = (float)integers[j] * scales[t];
    }
    return buffer;
}

/* acc[i][j] continues its chain over t = 0 ... k-1. rows and n are constants at every call. */
ALWAYS_INLINE void accumulate(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride,
                              const void *restrict b, const float *restrict scales, int rows, int n,
                              ptrdiff_t k, enum element element) {
    for (ptrdiff_t t = 0; t < k; t++) {
        float buffer[NR];
        const float *row = load_row(buffer, b, scales, t, n, element);
        for (int i = 0; i < rows; i++) {
            float x = a[i * a_stride + t];
            for (int j = 0; j < n; j++)
                acc[i][j] = multiply_add(x, row[j], acc[i][j]);
        }
    }
}

ALWAYS_INLINE void accumulate_tile(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride,
                                   const void *restrict b, const float *restrict scales, int rows,
                                   int n, ptrdiff_t k, enum element element) {
    if (rows == MR && n == NR)
        accumulate(acc, a, a_stride, b, scales, MR, NR, k, element);
    else if (n == NR)
        accumulate(acc, a, a_stride, b, scales, rows, NR, k, element);
    else
        accumulate(acc, a, a_stride, b, scales, rows, NR_MIN, k, element);
}

static inline int tile_rows(ptrdiff_t rows_left) {
    return rows_left < MR ? (int)rows_left : MR;
}

#endif
