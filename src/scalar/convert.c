/* Conversions between f32 and narrower types. */
#include "scalar/widen.h"

static uint16_t narrow_one_f16(float x) {
    uint32_t u = bits_of(x);
    uint32_t sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
    if (u >= 0x477ff000u) /* 65520 and up round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (u <
        0x38800000u) { /* below 2^-14: adding 0.5 leaves the subnormal's bits, rounded to even */
        return (uint16_t)(sign | (bits_of(float_of(u) + 0.5f) - 0x3f000000u));
    }
    uint32_t even = u >> 13 & 1u;
    return (uint16_t)(sign | (u - 0x38000000u + 0xfffu + even) >> 13);
}

static uint16_t narrow_one_bf16(float x) {
    uint32_t u = bits_of(x);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

void TIER(headwise_widen_f32)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    memcpy(dst, src, (size_t)n * sizeof *dst);
}

void TIER(headwise_widen_f16)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    const uint16_t *halves = src;
    for (ptrdiff_t j = 0; j < n; j++)
        dst[j] = widen_one_f16(halves[j]);
}

void TIER(headwise_widen_bf16)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    const uint16_t *halves = src;
    for (ptrdiff_t j = 0; j < n; j++)
        dst[j] = widen_one_bf16(halves[j]);
}

void TIER(headwise_widen_i8)(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    const int8_t *integers = src;
    for (ptrdiff_t j = 0; j < n; j++)
        dst[j] = (float)integers[j];
}

void TIER(headwise_narrow_f32)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    memcpy(dst, src, (size_t)n * sizeof *src);
}

void TIER(headwise_narrow_f16)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    uint16_t *halves = dst;
    for (ptrdiff_t j = 0; j < n; j++)
        halves[j] = narrow_one_f16(src[j]);
}

void TIER(headwise_narrow_bf16)(void *restrict dst, const float *restrict src, ptrdiff_t n) {
    uint16_t *halves = dst;
    for (ptrdiff_t j = 0; j < n; j++)
        halves[j] = narrow_one_bf16(src[j]);
}
