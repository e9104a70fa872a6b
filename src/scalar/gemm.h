/* The register tile that scores, values and project share. */
#ifndef HEADWISE_SCALAR_GEMM_H
#define HEADWISE_SCALAR_GEMM_H

#include "scalar/widen.h"

/* What the elements of a panel are and which scales they have: a constant at every call. */
enum element { F32, F16, BF16, I8, KEYS_I8, VALUES_I8 };

/* acc[i][j] continues its chain over t = 0 ... k-1. rows and n are constants at every call. */
ALWAYS_INLINE void accumulate(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride,
                              const float *restrict b, ptrdiff_t b_stride, int rows, int n,
                              ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++, b += b_stride) {
        for (int i = 0; i < rows; i++) {
            float x = a[i * a_stride + t];
            for (int j = 0; j < n; j++)
                acc[i][j] = multiply_add(x, b[j], acc[i][j]);
        }
    }
}

static __attribute__((noinline)) void accumulate_f32(float acc[MR][NR], const float *restrict a,
                                                     ptrdiff_t a_stride, const float *restrict b,
                                                     ptrdiff_t b_stride, int rows, int n,
                                                     ptrdiff_t k) {
    if (rows == MR && n == NR)
        accumulate(acc, a, a_stride, b, b_stride, MR, NR, k);
    else if (n == NR)
        accumulate(acc, a, a_stride, b, b_stride, rows, NR, k);
    else
        accumulate(acc, a, a_stride, b, b_stride, rows, NR_MIN, k);
}

/* Rows t ... t + k - 1 of a panel of n columns as f32. */
ALWAYS_INLINE void widen_rows(float *restrict dst, const void *restrict b,
                              const float *restrict scales, ptrdiff_t t, int n, ptrdiff_t k,
                              enum element element) {
    const uint16_t *halves = (const uint16_t *)b + t * n;
    const int8_t *integers = (const int8_t *)b + t * n;
    for (ptrdiff_t i = 0; i < k * n; i++) {
        if (element == F16)
            dst[i] = widen_one_f16(halves[i]);
        else if (element == BF16)
            dst[i] = widen_one_bf16(halves[i]);
        else
            dst[i] = (float)integers[i];
    }
    for (ptrdiff_t i = 0; i < k * n && element == KEYS_I8; i++)
        dst[i] *= scales[t / HEADWISE_SCALE_GROUP * n + i % n];
    for (ptrdiff_t i = 0; i < k * n && element == VALUES_I8; i++)
        dst[i] *= scales[t + i / n];
}

/* One panel. */
struct panel {
    const void *data;
    ptrdiff_t row_stride;
    const float *scales;
    int n;
};

/* Continues these chains over a panel of any element, widened by groups of rows that share scales.
 */
ALWAYS_INLINE void accumulate_tile(float acc[MR][NR], const float *restrict a, ptrdiff_t a_stride,
                                   const struct panel *b, int rows, ptrdiff_t k,
                                   enum element element) {
    float wide[HEADWISE_SCALE_GROUP * NR];
    if (element == F32) {
        accumulate_f32(acc, a, a_stride, b->data, b->row_stride, rows, b->n, k);
        return;
    }
    for (ptrdiff_t t = 0; t < k; t += HEADWISE_SCALE_GROUP) {
        ptrdiff_t part = k - t < HEADWISE_SCALE_GROUP ? k - t : HEADWISE_SCALE_GROUP;
        widen_rows(wide, b->data, b->scales, t, b->n, part, element);
        accumulate_f32(acc, a + t, a_stride, wide, b->n, rows, b->n, part);
    }
}

ALWAYS_INLINE int element_bytes(enum element element) {
    return element == F32 ? 4 : element == F16 || element == BF16 ? 2 : 1;
}

/* The panel that begins at column j of n. */
ALWAYS_INLINE struct panel panel_at(const struct headwise_columns *b, ptrdiff_t j, ptrdiff_t n,
                                    enum element element) {
    struct panel panel = {(const char *)b->data + j / NR * b->panel_stride * element_bytes(element),
                          b->row_stride, b->scales, n < NR ? (int)n : NR};
    if (element == KEYS_I8)
        panel.scales += j / NR * b->scales_stride;
    if (element == VALUES_I8)
        panel.scales += j / HEADWISE_SCALE_GROUP * b->scales_stride;
    if (element == I8 && panel.scales)
        panel.scales += j;
    return panel;
}

static inline int tile_rows(ptrdiff_t rows_left) {
    return rows_left < MR ? (int)rows_left : MR;
}

#endif
