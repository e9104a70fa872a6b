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

COLUMNS values_f32(const struct product *p, ptrdiff_t m, int n) {
    for_each_tile(p, m, n, values_tile, F32);
}

COLUMNS values_in_place(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, values_tile, F32_ROWS);
}

COLUMNS values_f16(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, values_tile, F16);
}

COLUMNS values_bf16(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, values_tile, BF16);
}

COLUMNS values_i8(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, values_tile, VALUES_I8);
}

void headwise_values_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                          ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                          const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F32);
    p.alpha = alpha;
    p.beta = beta;
    if (b->row_stride == (n < NR ? n : NR))
        for_each_panel(&p, m, n, values_f32, F32, ROWS);
    else
        for_each_panel(&p, m, n, values_in_place, F32_ROWS, ROWS);
}

void headwise_values_f16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                              ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                              const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F16);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_f16, F16, ROWS);
}

void headwise_values_bf16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                               ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                               const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, BF16);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_bf16, BF16, ROWS);
}

void headwise_values_i8_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                             ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                             const float *restrict beta) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, VALUES_I8);
    p.alpha = alpha;
    p.beta = beta;
    for_each_panel(&p, m, n, values_i8, VALUES_I8, ROWS);
}
