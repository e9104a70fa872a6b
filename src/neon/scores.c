#include "gemm.h"

TILE scores_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                 enum element element) {
    vec acc[MR * NR_VECS];
    accumulate(acc, zeros, 0, p, first, rows, vecs, element);
    vec scale = broadcast(p->scale);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *row = p->c + (first + i) * p->c_stride;
        UNROLLED
        for (int v = 0; v < vecs; v++)
            store(row + v * LANES, multiply(scale, acc[i * vecs + v]));
    }
}

void headwise_scores_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                          ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F32);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_tile, F32);
}

void headwise_scores_f16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                              ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F16);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_tile, F16);
}

void headwise_scores_bf16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                               ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, BF16);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_tile, BF16);
}

void headwise_scores_i8_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                             ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, KEYS_I8);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_tile, KEYS_I8);
}
