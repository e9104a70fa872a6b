/* The body of values.c for the x86 tiers, over gemm.h. The includer has defined
 * headwise_values_simd, headwise_values_f16_simd, headwise_values_bf16_simd,
 * headwise_values_i8_simd as its tier's names. */

TILE values_tile(const struct product *p, ptrdiff_t first, int rows, int vecs, enum element element,
                 enum form form) {
    vec acc[2 * MR];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = broadcast(0.0f);
    accumulate(acc, p, first, rows, vecs, element, form);
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

void headwise_values_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, const float *restrict b, ptrdiff_t m, int n,
                          ptrdiff_t k, const float *restrict alpha, const float *restrict beta) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, NULL, .alpha = alpha, .beta = beta};
    for_each_tile(&p, m, n, values_tile, F32);
}

void headwise_values_f16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, const void *restrict b,
                              const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                              const float *restrict alpha, const float *restrict beta) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .alpha = alpha, .beta = beta};
    for_each_direct_tile(&p, m, n, values_tile, F16);
}

void headwise_values_bf16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, const void *restrict b,
                               const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                               const float *restrict alpha, const float *restrict beta) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .alpha = alpha, .beta = beta};
    for_each_direct_tile(&p, m, n, values_tile, BF16);
}

void headwise_values_i8_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, const void *restrict b,
                             const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                             const float *restrict alpha, const float *restrict beta) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .alpha = alpha, .beta = beta};
    for_each_direct_tile(&p, m, n, values_tile, VALUES_I8);
}
