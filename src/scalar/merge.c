/* Joining the softmax of key blocks, and ending it. */
#include "vec.h"

void TIER(headwise_merge)(float *restrict alpha, float *restrict beta, float *restrict max,
                          float *restrict sum, const float *restrict block_max,
                          const float *restrict block_sum, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        float new_max = select_max(block_max[i], max[i]);
        float base = base_of(new_max);
        alpha[i] = exp2_f32((max[i] - base) * LOG2E);
        beta[i] = exp2_f32((block_max[i] - base) * LOG2E);
        sum[i] = multiply_add(sum[i], alpha[i], block_sum[i] * beta[i]);
        max[i] = new_max;
    }
}

void TIER(headwise_finish)(float *restrict inverse, float *restrict lse, const float *restrict max,
                           const float *restrict sum, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        inverse[i] = sum[i] == 0.0f ? 0.0f : 1.0f / sum[i];
        lse[i] = sum[i] == 0.0f ? -INFINITY : max[i] + Sleef_cinz_logf1_u10purec(sum[i]);
    }
}

void TIER(headwise_factors)(float *restrict factor, const float *restrict block_max, float max,
                            float inverse, ptrdiff_t n) {
    float base = base_of(max);
    for (ptrdiff_t i = 0; i < n; i++)
        factor[i] = exp2_f32((block_max[i] - base) * LOG2E) * inverse;
}

void TIER(headwise_normalize)(float *y, const float *o, float inverse, float gate, ptrdiff_t n) {
    static const uint32_t quiet_nan = 0x7fc00000u;
    for (ptrdiff_t j = 0; j < n; j++) {
        float x = multiply_add(o[j] * inverse, gate, 0.0f);
        if (x != x)
            memcpy(&x, &quiet_nan, sizeof x);
        y[j] = x;
    }
}
