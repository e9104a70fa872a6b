#include "gemm.h"

void headwise_project_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                             ptrdiff_t a_stride, const float *restrict b, ptrdiff_t m, int n,
                             ptrdiff_t k, bool resume, const float *restrict bias) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        for (int r = 0; resume && r < rows; r++)
            memcpy(acc[r], c + (i + r) * c_stride, (size_t)n * sizeof(float));
        accumulate_tile(acc, a + i * a_stride, a_stride, b, rows, n, k);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < n; j++)
                c[(i + r) * c_stride + j] = bias ? acc[r][j] + bias[j] : acc[r][j];
        }
    }
}
