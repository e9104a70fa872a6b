/* project of the scalar tier. */
#include "scalar/gemm.h"

ALWAYS_INLINE void project_panel(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                 ptrdiff_t a_stride, const struct panel *panel, ptrdiff_t m,
                                 ptrdiff_t k, bool resume, const float *restrict bias,
                                 enum element element) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        for (int r = 0; resume && r < rows; r++)
            memcpy(acc[r], c + (i + r) * c_stride, (size_t)panel->n * sizeof(float));
        accumulate_tile(acc, a + i * a_stride, a_stride, panel, rows, k, element);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < panel->n; j++) {
                float sum =
                    element == I8 && panel->scales ? acc[r][j] * panel->scales[j] : acc[r][j];
                c[(i + r) * c_stride + j] = bias ? sum + bias[j] : sum;
            }
        }
    }
}

ALWAYS_INLINE void project(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                           ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                           ptrdiff_t n, ptrdiff_t k, bool resume, const float *restrict bias,
                           enum element element) {
    for (ptrdiff_t j = 0; j < n; j += NR) {
        struct panel panel = panel_at(b, j, n, element);
        project_panel(c + j, c_stride, a, a_stride, &panel, m, k, resume, bias ? bias + j : NULL,
                      element);
    }
}

/* The kernels, one for each type of b. */
#define DEFINE_PROJECT(name, element)                                                              \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              int a_rows, const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, \
              bool resume, const float *restrict bias) {                                           \
        (void)a_rows; /* 1 */                                                                      \
        project(c, c_stride, a, a_stride, b, m, n, k, resume, bias, element);                      \
    }

DEFINE_PROJECT(TIER(headwise_project_f32), F32)
DEFINE_PROJECT(TIER(headwise_project_f16), F16)
DEFINE_PROJECT(TIER(headwise_project_bf16), BF16)
DEFINE_PROJECT(TIER(headwise_project_i8), I8)
