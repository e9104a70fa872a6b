#include "gemm.h"

ALWAYS_INLINE void project(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                           ptrdiff_t a_stride, const void *restrict b, const float *restrict scales,
                           ptrdiff_t m, int n, ptrdiff_t k, bool resume, const float *restrict bias,
                           enum element element) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        for (int r = 0; resume && r < rows; r++)
            memcpy(acc[r], c + (i + r) * c_stride, (size_t)n * sizeof(float));
        accumulate_tile(acc, a + i * a_stride, a_stride, b, scales, rows, n, k, element);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < n; j++) {
                float sum = element == I8 && scales ? acc[r][j] * scales[j] : acc[r][j];
                c[(i + r) * c_stride + j] = bias ? sum + bias[j] : sum;
            }
        }
    }
}

void headwise_project_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, int a_rows, const float *restrict b, ptrdiff_t m,
                             int n, ptrdiff_t k, bool resume, const float *restrict bias) {
    (void)a_rows; /* 1 */
    project(c, c_stride, a, a_stride, b, NULL, m, n, k, resume, bias, F32);
}

void headwise_project_f16_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                 ptrdiff_t a_stride, const void *restrict b,
                                 const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                                 bool resume, const float *restrict bias) {
    project(c, c_stride, a, a_stride, b, scales, m, n, k, resume, bias, F16);
}

void headwise_project_bf16_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                  ptrdiff_t a_stride, const void *restrict b,
                                  const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                                  bool resume, const float *restrict bias) {
    project(c, c_stride, a, a_stride, b, scales, m, n, k, resume, bias, BF16);
}

void headwise_project_i8_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, const void *restrict b,
                                const float *restrict scales, ptrdiff_t m, int n, ptrdiff_t k,
                                bool resume, const float *restrict bias) {
    project(c, c_stride, a, a_stride, b, scales, m, n, k, resume, bias, I8);
}
