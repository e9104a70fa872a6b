/* The body of project.c for the x86 tiers, over gemm.h. The includer has defined
 * headwise_project_simd, headwise_project_f16_simd, headwise_project_bf16_simd,
 * headwise_project_i8_simd as its tier's names. */

TILE project_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                  enum element element, enum form form) {
    vec acc[2 * MR];
    float *c = p->c + first * p->c_stride;
    if (p->resume) {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = load(c + i / vecs * p->c_stride + i % vecs * LANES);
    } else {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = broadcast(0.0f);
    }
    accumulate(acc, p, first, rows, vecs, element, form);
    if (element == I8 && p->scales != NULL) {
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec scale = load(p->scales + v * LANES);
            UNROLLED
            for (int i = 0; i < rows; i++)
                acc[i * vecs + v] = multiply(acc[i * vecs + v], scale);
        }
    }
    if (p->bias != NULL) {
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec bias = load(p->bias + v * LANES);
            UNROLLED
            for (int i = 0; i < rows; i++)
                acc[i * vecs + v] = add(acc[i * vecs + v], bias);
        }
    }
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        store(c + i / vecs * p->c_stride + i % vecs * LANES, acc[i]);
}

void headwise_project_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                           ptrdiff_t a_stride, int a_rows, const float *restrict b, ptrdiff_t m,
                           int n, ptrdiff_t k, bool resume, const float *restrict bias) {
    struct product p = {c,
                        c_stride,
                        a,
                        a_stride,
                        a_rows,
                        b,
                        k,
                        NULL,
                        .resume = resume,
                        .bias = bias,
                        .continues = true};
    if (a_rows > 1)
        for_each_panel(&p, m, n, project_tile, F32);
    else
        for_each_direct_tile(&p, m, n, project_tile, F32);
}

void headwise_project_f16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, const void *restrict b,
                               const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                               bool resume, const float *restrict bias) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .resume = resume, .bias = bias};
    for_each_direct_tile(&p, m, n, project_tile, F16);
}

void headwise_project_bf16_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, const void *restrict b,
                                const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                                bool resume, const float *restrict bias) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .resume = resume, .bias = bias};
    for_each_direct_tile(&p, m, n, project_tile, BF16);
}

void headwise_project_i8_simd(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, const void *restrict b,
                              const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                              bool resume, const float *restrict bias) {
    struct product p = {c, c_stride, a, a_stride, 1, b, k, scales, .resume = resume, .bias = bias};
    for_each_direct_tile(&p, m, n, project_tile, I8);
}
