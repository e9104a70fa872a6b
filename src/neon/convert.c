#include "neon/widen.h"

static inline halves load_first_halves(const uint16_t *p, ptrdiff_t n) {
    if (n >= LANES)
        return vld1_u16(p);
    halves x = vdup_n_u16(0);
    if (n > 0)
        x = vld1_lane_u16(p, x, 0);
    if (n > 1)
        x = vld1_lane_u16(p + 1, x, 1);
    if (n > 2)
        x = vld1_lane_u16(p + 2, x, 2);
    return x;
}

static inline void store_halves(uint16_t *p, halves x, ptrdiff_t n) {
    if (n >= LANES) {
        vst1_u16(p, x);
        return;
    }
    if (n > 0)
        vst1_lane_u16(p, x, 0);
    if (n > 1)
        vst1_lane_u16(p + 1, x, 1);
    if (n > 2)
        vst1_lane_u16(p + 2, x, 2);
}

static inline halves narrow_f16(vec x) {
    return vreinterpret_u16_f16(vcvt_f16_f32(x));
}

/* Adding 0x7fff, and 1 where the kept part is odd, carries into it exactly when rounding to nearest
 * even goes up, and turns the largest finite values into infinity. */
static inline halves narrow_bf16(vec x) {
    uint32x4_t bits = vreinterpretq_u32_f32(x);
    uint32x4_t kept = vshrq_n_u32(bits, 16);
    uint32x4_t odd = vandq_u32(kept, vdupq_n_u32(1));
    uint32x4_t half = vaddq_u32(odd, vdupq_n_u32(0x7fff));
    uint32x4_t rounded = vshrq_n_u32(vaddq_u32(bits, half), 16);
    uint32x4_t quiet = vorrq_u32(kept, vdupq_n_u32(0x40));
    uint32x4_t is_number = vceqq_f32(x, x);
    return vmovn_u32(vbslq_u32(is_number, rounded, quiet));
}

typedef vec widen_fn(halves x);
typedef halves narrow_fn(vec x);

#define ALL static inline __attribute__((always_inline)) void

ALL widen_all(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n, widen_fn *widen) {
    ptrdiff_t j = 0;
    for (; n - j >= 4 * LANES; j += 4 * LANES) {
        UNROLLED
        for (int v = 0; v < 4; v++)
            store(dst + j + v * LANES, widen(load_halves(src + j + v * LANES)));
    }
    for (; j < n; j += LANES)
        store_first(dst + j, widen(load_first_halves(src + j, n - j)), n - j);
}

ALL narrow_all(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n, narrow_fn *narrow) {
    ptrdiff_t j = 0;
    for (; n - j >= 4 * LANES; j += 4 * LANES) {
        UNROLLED
        for (int v = 0; v < 4; v++)
            vst1_u16(dst + j + v * LANES, narrow(load(src + j + v * LANES)));
    }
    for (; j < n; j += LANES)
        store_halves(dst + j, narrow(load_first(src + j, n - j)), n - j);
}

void headwise_widen_f16_neon(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    widen_all(dst, src, n, widen_f16);
}

void headwise_widen_bf16_neon(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    widen_all(dst, src, n, widen_bf16);
}

void headwise_narrow_f16_neon(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    narrow_all(dst, src, n, narrow_f16);
}

void headwise_narrow_bf16_neon(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    narrow_all(dst, src, n, narrow_bf16);
}
