/* Softmax numerators of rows, with their maxima and sums. */
#include "vec.h"

static void softmax_row(float *restrict s, ptrdiff_t n, float *restrict max_out,
                        float *restrict sum_out) {
    float max = -INFINITY;
    for (ptrdiff_t j = 0; j < n; j++)
        max = select_max(s[j], max);
    float base = base_of(max);
    float lane[HEADWISE_SUM_LANES] = {0};
    for (ptrdiff_t j = 0; j < n; j++) {
        s[j] = exp2_f32((s[j] - base) * LOG2E);
        lane[j % HEADWISE_SUM_LANES] += s[j];
    }
    for (ptrdiff_t j = n; j % HEADWISE_SUM_LANES != 0; j++)
        s[j] = 0.0f;
    *max_out = max;
    *sum_out = fold_lanes(lane);
}

void TIER(headwise_softmax)(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                            float *restrict max, float *restrict sum) {
    for (ptrdiff_t i = 0; i < m; i++)
        softmax_row(s + i * s_stride, n, max + i, sum + i);
}
