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

COLUMNS scores_f32(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, scores_tile, F32);
}

COLUMNS scores_row_panels(const struct product *p, ptrdiff_t m, int n) {
    for_each_row_panel(p, 0, m, n, scores_tile, F32, PANEL);
}

COLUMNS scores_f16(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, scores_tile, F16);
}

COLUMNS scores_bf16(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, scores_tile, BF16);
}

COLUMNS scores_i8(const struct product *p, ptrdiff_t m, int n) {
    for_each_direct_tile(p, m, n, scores_tile, KEYS_I8);
}

void headwise_scores_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                          ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F32);
    p.scale = scale;
    if (a_rows > 1)
        for_each_panel(&p, m, n, scores_row_panels, F32, PANEL);
    else
        for_each_panel(&p, m, n, scores_f32, F32, ROWS);
}

void headwise_scores_f16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                              ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F16);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_f16, F16, ROWS);
}

void headwise_scores_bf16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                               ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, BF16);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_bf16, BF16, ROWS);
}

void headwise_scores_i8_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                             ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, KEYS_I8);
    p.scale = scale;
    for_each_panel(&p, m, n, scores_i8, KEYS_I8, ROWS);
}
