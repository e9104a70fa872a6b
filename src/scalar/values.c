/* values of the scalar tier. */
#include "scalar/gemm.h"

ALWAYS_INLINE void values_panel(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, const struct panel *panel, ptrdiff_t m,
                                ptrdiff_t k, const float *restrict alpha,
                                const float *restrict beta, enum element element) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        accumulate_tile(acc, a + i * a_stride, a_stride, panel, rows, k, element);
        for (int r = 0; r < rows; r++) {
            float *row = c + (i + r) * c_stride;
            for (int j = 0; j < panel->n; j++)
                row[j] = multiply_add(row[j], alpha[i + r], beta[i + r] * acc[r][j]);
        }
    }
}

ALWAYS_INLINE void values(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                          ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                          const float *restrict beta, enum element element) {
    for (ptrdiff_t j = 0; j < n; j += NR) {
        struct panel panel = panel_at(b, j, n, element);
        values_panel(c + j, c_stride, a, a_stride, &panel, m, k, alpha, beta, element);
    }
}

/* The kernels, one for each type of b. */
#define DEFINE_VALUES(name, element)                                                               \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,             \
              const float *restrict alpha, const float *restrict beta) {                           \
        values(c, c_stride, a, a_stride, b, m, n, k, alpha, beta, element);                        \
    }

DEFINE_VALUES(TIER(headwise_values_f32), F32)
DEFINE_VALUES(TIER(headwise_values_f16), F16)
DEFINE_VALUES(TIER(headwise_values_bf16), BF16)
DEFINE_VALUES(TIER(headwise_values_i8), VALUES_I8)
