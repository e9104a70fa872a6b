#include "gemm.h"

TILE project_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                  enum element element) {
    vec acc[MR * NR_VECS];
    float *c = p->c + first * p->c_stride;
    accumulate(acc, p->resume ? c : zeros, p->resume ? p->c_stride : 0, p, first, rows, vecs,
               element);
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

void headwise_project_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                           ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                           ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool resume,
                           const float *restrict bias) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F32);
    p.resume = resume;
    p.bias = bias;
    for_each_panel(&p, m, n, project_tile, F32);
}

void headwise_project_f16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                               ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                               ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool resume,
                               const float *restrict bias) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, F16);
    p.resume = resume;
    p.bias = bias;
    for_each_panel(&p, m, n, project_tile, F16);
}

void headwise_project_bf16_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                                ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool resume,
                                const float *restrict bias) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, BF16);
    p.resume = resume;
    p.bias = bias;
    for_each_panel(&p, m, n, project_tile, BF16);
}

void headwise_project_i8_neon(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                              ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                              ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool resume,
                              const float *restrict bias) {
    (void)a_rows; /* 1 */
    struct product p = make_product(c, c_stride, a, a_stride, b, k, I8);
    p.resume = resume;
    p.bias = bias;
    for_each_panel(&p, m, n, project_tile, I8);
}
