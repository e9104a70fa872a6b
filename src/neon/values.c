#include "gemm.h"

TILE values_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                 enum element element) {
    vec acc[MR * NR_VECS];
    accumulate(acc, zeros, 0, p, first, rows, vecs, element);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *row = p->c + (first + i) * p->c_stride;
        vec alpha = broadcast(p->alpha[first + i]);
        vec beta = broadcast(p->beta[first + i]);
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec block = multiply(beta, acc[i * vecs + v]);
            store(row + v * LANES, multiply_add(load(row + v * LANES), alpha, block));
        }
    }
}

void headwise_values_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                          ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                          const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F32);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_tile, F32);
}

void headwise_values_f16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                              ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                              const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F16);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_tile, F16);
}

void headwise_values_bf16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                               ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                               const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, BF16);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_tile, BF16);
}

void headwise_values_i8_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                             ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                             const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, VALUES_I8);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_tile, VALUES_I8);
}
