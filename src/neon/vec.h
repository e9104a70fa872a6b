/* The neon tier's words: simd/words.h says what each of them means. */
#ifndef HEADWISE_NEON_VEC_H
#define HEADWISE_NEON_VEC_H

#include <arm_neon.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#define TIER(name) name##_neon

#include "simd/table.h"
#include "simd/words.h"

#define ISA HEADWISE_ISA_NEON

enum {
    LANES = 4,
    MR = 4,
    ROW_PANEL = 1,
    NR = 16,
    NR_MIN = 4,
    BYTE_OFFSET = 128,
    SUM_VECS = HEADWISE_SUM_LANES / LANES
};

/* struct headwise_block_sizes */
enum { TILE_ROWS = 768, MIN_TILE_ROWS = 48 };
enum { FEW_ROWS = 24, PASS_ROWS = 96, WIDE_PASS_ROWS = 192, WIDE_HEAD = 1024 };
enum { PROJECT_ROWS = 288, PROJECT_INPUTS = 256, PROJECT_SLICE = 1024 };

typedef float32x4_t vec;
typedef uint16x4_t halves;
typedef int32x4_t ints;

static inline uint32x4_t first_lanes(ptrdiff_t n) {
    static const int32_t index[LANES] = {0, 1, 2, 3};
    int count = n >= LANES ? LANES : (int)(n <= 0 ? 0 : n);
    return vcgtq_s32(vdupq_n_s32(count), vld1q_s32(index));
}

static inline vec broadcast(float x) {
    return vdupq_n_f32(x);
}

static inline vec load(const float *p) {
    return vld1q_f32(p);
}

static inline void store(float *p, vec x) {
    vst1q_f32(p, x);
}

static inline vec load_first(const float *p, ptrdiff_t n) {
    if (n >= LANES)
        return load(p);
    vec x = broadcast(0.0f);
    if (n > 0)
        x = vld1q_lane_f32(p, x, 0);
    if (n > 1)
        x = vld1q_lane_f32(p + 1, x, 1);
    if (n > 2)
        x = vld1q_lane_f32(p + 2, x, 2);
    return x;
}

static inline void store_first(float *p, vec x, ptrdiff_t n) {
    if (n >= LANES) {
        store(p, x);
        return;
    }
    if (n > 0)
        vst1q_lane_f32(p, x, 0);
    if (n > 1)
        vst1q_lane_f32(p + 1, x, 1);
    if (n > 2)
        vst1q_lane_f32(p + 2, x, 2);
}

static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return vbslq_f32(first_lanes(n), x, y);
}

static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return vbslq_f32(vceqq_f32(a, b), x, y);
}

static inline vec select_nan(vec a, vec x, vec y) {
    return vbslq_f32(vceqq_f32(a, a), y, x);
}

static inline vec select_bytes(const uint8_t *p, ptrdiff_t n, vec x, vec y) {
    uint32_t four = 0;
    if (n >= LANES)
        memcpy(&four, p, sizeof four);
    for (int l = 0; n < LANES && l < n; l++)
        four |= (uint32_t)p[l] << 8 * l;
    uint32x4_t visible = vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)))));
    return vbslq_f32(vtstq_u32(visible, visible), x, y);
}

static inline vec add(vec a, vec b) {
    return vaddq_f32(a, b);
}

static inline vec subtract(vec a, vec b) {
    return vsubq_f32(a, b);
}

static inline vec multiply(vec a, vec b) {
    return vmulq_f32(a, b);
}

static inline vec divide(vec a, vec b) {
    return vdivq_f32(a, b);
}

static inline vec absolute(vec x) {
    return vabsq_f32(x);
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return vfmaq_f32(vnegq_f32(c), a, b);
}

/* Not fmax, which spreads NaN. */
static inline vec select_max(vec a, vec b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline vec select_min(vec a, vec b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

static inline vec power_of_two(vec x) {
    int32x4_t exponent = vshlq_n_s32(vreinterpretq_s32_f32(x), 23);
    return vreinterpretq_f32_s32(vaddq_s32(exponent, vdupq_n_s32(127 << 23)));
}

static inline vec exp2_vec(vec x) {
    return Sleef_finz_exp2f4_u10advsimd(x);
}

static inline vec log_vec(vec x) {
    return Sleef_finz_logf4_u10advsimd(x);
}

static inline vec tanh_vec(vec x) {
    return Sleef_finz_tanhf4_u10advsimd(x);
}

static inline float fold_sum(const vec lane[SUM_VECS]) {
    vec x4 = add(add(lane[0], lane[2]), add(lane[1], lane[3]));
    float32x2_t x2 = vadd_f32(vget_low_f32(x4), vget_high_f32(x4));
    return vget_lane_f32(x2, 0) + vget_lane_f32(x2, 1);
}

static inline float fold_max(const vec lane[SUM_VECS]) {
    vec x4 = select_max(select_max(lane[3], lane[1]), select_max(lane[2], lane[0]));
    vec x2 = select_max(vextq_f32(x4, x4, 2), x4);
    return vgetq_lane_f32(select_max(vextq_f32(x2, x2, 1), x2), 0);
}

static inline vec select_magnitude(vec x, vec magnitude) {
    uint32x4_t absolute = vreinterpretq_u32_f32(vabsq_f32(x));
    return vreinterpretq_f32_u32(vmaxq_u32(absolute, vreinterpretq_u32_f32(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    return vmaxvq_u32(vreinterpretq_u32_f32(magnitude)) < 0x7f800000u;
}

static inline void transpose(vec row[LANES]) {
    vec even_low = vzip1q_f32(row[0], row[2]), even_high = vzip2q_f32(row[0], row[2]);
    vec odd_low = vzip1q_f32(row[1], row[3]), odd_high = vzip2q_f32(row[1], row[3]);
    row[0] = vzip1q_f32(even_low, odd_low);
    row[1] = vzip2q_f32(even_low, odd_low);
    row[2] = vzip1q_f32(even_high, odd_high);
    row[3] = vzip2q_f32(even_high, odd_high);
}

static inline void deinterleave(vec *low, vec *high) {
    vec even = vuzp1q_f32(*low, *high);
    *high = vuzp2q_f32(*low, *high);
    *low = even;
}

static inline void interleave(vec *even, vec *odd) {
    vec low = vzip1q_f32(*even, *odd);
    *odd = vzip2q_f32(*even, *odd);
    *even = low;
}

static inline halves load_halves(const uint16_t *p) {
    return vld1_u16(p);
}

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

static inline void store_first_halves(uint16_t *p, halves x, ptrdiff_t n) {
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

static inline vec widen_f16(halves x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(x));
}

static inline vec widen_bf16(halves x) {
    return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
}

static inline halves narrow_f16(vec x) {
    return vreinterpret_u16_f16(vcvt_f16_f32(x));
}

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

static inline vec load_integers(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    int16x8_t words = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(words)));
}

static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    int16x4_t words = vmovn_s32(vcvtnq_s32_f32(x));
    int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
    memcpy(p, &bytes, (size_t)(n >= LANES ? LANES : n));
}

static inline void store_bytes(uint8_t *p, vec x) {
    int32x4_t wide = vsubq_s32(vcvtnq_s32_f32(x), vdupq_n_s32(BYTE_OFFSET));
    int16x4_t words = vqmovn_s32(wide);
    int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
    vst1_lane_u32((uint32_t *)(void *)p, vreinterpret_u32_s8(bytes), 0);
}

static inline ints load_ints(const void *p) {
    return vld1q_s32(p);
}

static inline void store_ints(void *p, ints x) {
    vst1q_s32(p, x);
}

static inline ints broadcast_int(int32_t x) {
    return vdupq_n_s32(x);
}

static inline ints add_ints(ints a, ints b) {
    return vaddq_s32(a, b);
}

static inline ints subtract_ints(ints a, ints b) {
    return vsubq_s32(a, b);
}

static inline ints multiply_ints(ints a, ints b) {
    return vmulq_s32(a, b);
}

static inline vec floats_of(ints x) {
    return vcvtq_f32_s32(x);
}

#endif
