/* Conversions between f32 and narrower types. */
#include "vec.h"

typedef vec widen_fn(halves x);
typedef halves narrow_fn(vec x);

ALWAYS_INLINE void widen_all(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n,
                             widen_fn *widen) {
    ptrdiff_t j = 0;
    for (; n - j >= 4 * LANES; j += 4 * LANES) {
        UNROLLED
        for (int v = 0; v < 4; v++)
            store(dst + j + v * LANES, widen(load_halves(src + j + v * LANES)));
    }
    for (; j < n; j += LANES)
        store_first(dst + j, widen(load_first_halves(src + j, n - j)), n - j);
}

ALWAYS_INLINE void narrow_all(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n,
                              narrow_fn *narrow) {
    ptrdiff_t j = 0;
    for (; n - j >= 4 * LANES; j += 4 * LANES) {
        UNROLLED
        for (int v = 0; v < 4; v++)
            store_first_halves(dst + j + v * LANES, narrow(load(src + j + v * LANES)), LANES);
    }
    for (; j < n; j += LANES)
        store_first_halves(dst + j, narrow(load_first(src + j, n - j)), n - j);
}

void TIER(headwise_widen_f32)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    memcpy(dst, src, (size_t)n * sizeof *dst);
}

void TIER(headwise_widen_f16)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    widen_all(dst, src, n, widen_f16);
}

void TIER(headwise_widen_bf16)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    widen_all(dst, src, n, widen_bf16);
}

void TIER(headwise_widen_i8)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    const int8_t *integers = src;
    ptrdiff_t j = 0;
    for (; n - j >= LANES; j += LANES)
        store(dst + j, load_integers(integers + j));
    for (; j < n; j++)
        dst[j] = (float)integers[j];
}

void TIER(headwise_narrow_f32)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    memcpy(dst, src, (size_t)n * sizeof *src);
}

void TIER(headwise_narrow_f16)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    narrow_all(dst, src, n, narrow_f16);
}

void TIER(headwise_narrow_bf16)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    narrow_all(dst, src, n, narrow_bf16);
}
