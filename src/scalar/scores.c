#include "gemm.h"

void headwise_scores_scalar(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                            ptrdiff_t a_stride, const float *restrict b, ptrdiff_t m, int n,
                            ptrdiff_t k, float scale) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        accumulate_tile(acc, a + i * a_stride, a_stride, b, rows, n, k);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < n; j++)
                c[(i + r) * c_stride + j] = scale * acc[r][j];
        }
    }
}
