/* The body of scores.c for the x86 tiers, over gemm.h. The includer has defined
 * headwise_scores_simd, headwise_scores_f16_simd, headwise_scores_bf16_simd,
 * headwise_scores_i8_simd as its tier's names. */

TILE scores_tile(const struct product *p, ptrdiff_t first, int rows, int vecs, enum element element,
                 enum form form) {
    vec acc[2 * MR];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = broadcast(0.0f);
    accumulate(acc, p, first, rows, vecs, element, form);
    vec scale = broadcast(p->scale);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *row = p->c + (first + i) * p->c_stride;
        UNROLLED
        for (int v = 0; v < vecs; v++)
            store(row + v * LANES, multiply(scale, acc[i * vecs + v]));
    }
}

void headwise_scores_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, int a_rows, const float *restrict b, ptrdiff_t m,
                          int n, ptrdiff_t k, float scale) {
    struct product p = {c, c_stride, a, a_stride, a_rows, b, k, NULL, .scale = scale};
    if (a_rows > 1)
        for_each_panel(&p, m, n, scores_tile, F32);
    else
        for_each_direct_tile(&p, m, n, scores_tile, F32);
}

void headwise_scores_f16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, const void *restrict b,
                              const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                              float scale) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .scale = scale};
    for_each_direct_tile(&p, m, n, scores_tile, F16);
}

void headwise_scores_bf16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, const void *restrict b,
                               const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                               float scale) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .scale = scale};
    for_each_direct_tile(&p, m, n, scores_tile, BF16);
}

void headwise_scores_i8_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, const void *restrict b,
                             const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                             float scale) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .scale = scale};
    for_each_direct_tile(&p, m, n, scores_tile, KEYS_I8);
}
