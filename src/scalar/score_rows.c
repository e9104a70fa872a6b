/* What changes rows of scores before softmax: softcap, distances, masks. */
#include "vec.h"

void TIER(headwise_softcap)(float *s, float cap, float inverse_cap, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        s[j] = cap * Sleef_cinz_tanhf1_u10purec(s[j] * inverse_cap);
}

void TIER(headwise_alibi)(float *s, float slope, float distance, ptrdiff_t first, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        s[j] = multiply_add(-slope, fabsf(distance - (float)(first + j)), s[j]);
}

void TIER(headwise_add_mask)(float *restrict s, const float *restrict x, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        s[j] = x[j] == -INFINITY ? -INFINITY : s[j] + x[j];
}

void TIER(headwise_hide)(float *restrict s, const uint8_t *restrict visible, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        s[j] = visible[j] ? s[j] : -INFINITY;
}

void TIER(headwise_add)(float *restrict s, const float *restrict x, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        s[j] += x[j];
}
