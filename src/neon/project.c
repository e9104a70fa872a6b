#include "gemm.h"

TILE project_tile(const struct product *p, ptrdiff_t first, int rows, int vecs) {
    vec acc[MR * NR_VECS];
    float *c = p->c + first * p->c_stride;
    accumulate(acc, p->resume ? c : zeros, p->resume ? p->c_stride : 0, p, first, rows, vecs);
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
                           ptrdiff_t a_stride, const float *restrict b, ptrdiff_t m, int n,
                           ptrdiff_t k, bool resume, const float *restrict bias) {
    struct product p = {c, c_stride, a, a_stride, b, k, .resume = resume, .bias = bias};
    for_each_tile(&p, m, n, project_tile);
}
