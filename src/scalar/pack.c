/* Packing of panels; row panels are plain rows. */
#include "vec.h"

/* Plain rows: row_panel is 1. */
void TIER(headwise_pack_rows)(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                              ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k) {
    for (ptrdiff_t i = 0; i < m; i++)
        memcpy(a + i * a_stride, src + i * src_stride, (size_t)k * sizeof(float));
}

void TIER(headwise_pack_transposed)(float *restrict panel, int n, const float *restrict src,
                                    ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        for (int j = 0; j < n_rows; j++)
            panel[t * n + j] = src[j * src_stride + t];
        for (int j = n_rows; j < n; j++)
            panel[t * n + j] = 0.0f;
    }
}

bool TIER(headwise_pack_columns)(float *restrict panel, int n, const float *restrict src,
                                 ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    float probe = 0.0f; /* x * 0 is 0 for finite x and NaN otherwise */
    for (ptrdiff_t t = 0; t < k; t++) {
        for (int j = 0; j < n_columns; j++) {
            float x = src[t * src_stride + j];
            panel[t * n + j] = x;
            probe += x * 0.0f;
        }
        for (int j = n_columns; j < n; j++)
            panel[t * n + j] = 0.0f;
    }
    return probe == 0.0f;
}
