#include "gemm.h"

void headwise_values_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                            ptrdiff_t a_stride, const float *restrict b, ptrdiff_t m, int n,
                            ptrdiff_t k, const float *restrict alpha, const float *restrict beta) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        accumulate_tile(acc, a + i * a_stride, a_stride, b, rows, n, k);
        for (int r = 0; r < rows; r++) {
            float *row = c + (i + r) * c_stride;
            for (int j = 0; j < n; j++)
                row[j] = multiply_add(row[j], alpha[i + r], beta[i + r] * acc[r][j]);
        }
    }
}
