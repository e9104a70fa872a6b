/* scores of the scalar tier. */
#include "scalar/gemm.h"

ALWAYS_INLINE void scores_panel(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, const struct panel *panel, ptrdiff_t m,
                                ptrdiff_t k, float scale, enum element element) {
    for (ptrdiff_t i = 0; i < m; i += MR) {
        float acc[MR][NR] = {{0}};
        int rows = tile_rows(m - i);
        accumulate_tile(acc, a + i * a_stride, a_stride, panel, rows, k, element);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < panel->n; j++)
                c[(i + r) * c_stride + j] = scale * acc[r][j];
        }
    }
}

ALWAYS_INLINE void scores(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                          ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                          ptrdiff_t n, ptrdiff_t k, float scale, enum element element) {
    for (ptrdiff_t j = 0; j < n; j += NR) {
        struct panel panel = panel_at(b, j, n, element);
        scores_panel(c + j, c_stride, a, a_stride, &panel, m, k, scale, element);
    }
}

/* The kernels, one for each type of b. */
#define DEFINE_SCORES(name, element)                                                               \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              int a_rows, const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, \
              float scale) {                                                                       \
        (void)a_rows; /* 1 */                                                                      \
        scores(c, c_stride, a, a_stride, b, m, n, k, scale, element);                              \
    }

DEFINE_SCORES(TIER(headwise_scores_f32), F32)
DEFINE_SCORES(TIER(headwise_scores_f16), F16)
DEFINE_SCORES(TIER(headwise_scores_bf16), BF16)
DEFINE_SCORES(TIER(headwise_scores_i8), KEYS_I8)

void TIER(headwise_scores_in_place)(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                    ptrdiff_t a_stride, int a_rows,
                                    const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n,
                                    ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    for (ptrdiff_t j = 0; j < n; j++) {
        const float *key = (const float *)b->data + j * b->row_stride;
        for (ptrdiff_t i = 0; i < m; i++) {
            float acc = 0.0f;
            for (ptrdiff_t t = 0; t < k; t++)
                acc = multiply_add(a[i * a_stride + t], key[t], acc);
            c[i * c_stride + j] = scale * acc;
        }
    }
}
