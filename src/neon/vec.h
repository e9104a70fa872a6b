/* The NEON tier's vocabulary. */
#ifndef HEADWISE_NEON_VEC_H
#define HEADWISE_NEON_VEC_H

#include <arm_neon.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#include "neon/local.h"

#define LOG2E 1.44269504088896340736f

/* Before a loop whose count is a constant: arrays it indexes can then be registers. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

typedef float32x4_t vec;

enum { LANES = 4, MR = 4, NR = 16, NR_MIN = 4, SUM_VECS = HEADWISE_SUM_LANES / LANES };

/* Mask of the lanes below n; any n. */
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

/* Lanes from n up are 0, and their memory is not touched. */
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

/* Lanes below n from x, the others from y. */
static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return vbslq_f32(first_lanes(n), x, y);
}

/* Lanes where a == b from x, the others from y. */
static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return vbslq_f32(vceqq_f32(a, b), x, y);
}

static inline vec select_nan(vec a, vec x, vec y) {
    return vbslq_f32(vceqq_f32(a, a), y, x);
}

/* Lanes where p[l] != 0 from x, the others from y; bytes from n up are not read. */
static inline vec select_bytes(const uint8_t *p, ptrdiff_t n, vec x, vec y) {
    uint8x8_t bytes = vdup_n_u8(0);
    if (n >= LANES) {
        uint32_t four;
        memcpy(&four, p, sizeof four);
        bytes = vreinterpret_u8_u32(vdup_n_u32(four));
    } else {
        if (n > 0)
            bytes = vld1_lane_u8(p, bytes, 0);
        if (n > 1)
            bytes = vld1_lane_u8(p + 1, bytes, 1);
        if (n > 2)
            bytes = vld1_lane_u8(p + 2, bytes, 2);
    }
    uint32x4_t visible = vmovl_u16(vget_low_u16(vmovl_u8(bytes)));
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

/* |x|. */
static inline vec absolute(vec x) {
    return vabsq_f32(x);
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}

/* a's element in the given lane, a constant at every call, with all of b. */
static inline __attribute__((always_inline)) vec multiply_add_lane(vec a, int lane, vec b, vec c) {
    switch (lane) {
    case 0:
        return vfmaq_laneq_f32(c, b, a, 0);
    case 1:
        return vfmaq_laneq_f32(c, b, a, 1);
    case 2:
        return vfmaq_laneq_f32(c, b, a, 2);
    default:
        return vfmaq_laneq_f32(c, b, a, 3);
    }
}

/* Not fmax, which spreads NaN. */
static inline vec select_max(vec a, vec b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
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

/* The contract's tree over 16 lanes: l with l+8, then l+4, l+2, l+1. */
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

/* The largest |x| so far, NaN above infinity: compared as integers. */
static inline vec select_magnitude(vec x, vec magnitude) {
    uint32x4_t absolute = vreinterpretq_u32_f32(vabsq_f32(x));
    return vreinterpretq_f32_u32(vmaxq_u32(absolute, vreinterpretq_u32_f32(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    return vmaxvq_u32(vreinterpretq_u32_f32(magnitude)) < 0x7f800000u;
}

/* Element j of row i becomes element i of row j. */
static inline void transpose(vec row[LANES]) {
    vec even_low = vzip1q_f32(row[0], row[2]), even_high = vzip2q_f32(row[0], row[2]);
    vec odd_low = vzip1q_f32(row[1], row[3]), odd_high = vzip2q_f32(row[1], row[3]);
    row[0] = vzip1q_f32(even_low, odd_low);
    row[1] = vzip2q_f32(even_low, odd_low);
    row[2] = vzip1q_f32(even_high, odd_high);
    row[3] = vzip2q_f32(even_high, odd_high);
}

/* Rows that load_turned reads at once. */
enum { TURNED = 2 * LANES };

/* Loads four elements of each of eight rows, turned: element i of row j becomes lane j % 4 of
 * tile[i] or, from row 4 on, of tile[4 + i]; moves the row pointers on. ld4 to one lane turns while
 * it loads: a panel of 16 keys costs 0.43 instructions per element, loads with a transpose by zip
 * 0.98. It is written out because gcc 12 puts four moves around each vld4q_lane_f32. */
static inline void load_turned(vec tile[TURNED], const float *row[TURNED]) {
    register vec x0 __asm__("v0"), x1 __asm__("v1"), x2 __asm__("v2"), x3 __asm__("v3");
    register vec y0 __asm__("v4"), y1 __asm__("v5"), y2 __asm__("v6"), y3 __asm__("v7");
    __asm__ volatile(
        "ld4r {v0.4s - v3.4s}, [%[r0]], #16\n\t"
        "ld4r {v4.4s - v7.4s}, [%[r4]], #16\n\t"
        "ld4 {v0.s - v3.s}[1], [%[r1]], #16\n\t"
        "ld4 {v4.s - v7.s}[1], [%[r5]], #16\n\t"
        "ld4 {v0.s - v3.s}[2], [%[r2]], #16\n\t"
        "ld4 {v4.s - v7.s}[2], [%[r6]], #16\n\t"
        "ld4 {v0.s - v3.s}[3], [%[r3]], #16\n\t"
        "ld4 {v4.s - v7.s}[3], [%[r7]], #16"
        : "=&w"(x0), "=&w"(x1), "=&w"(x2), "=&w"(x3), "=&w"(y0), "=&w"(y1), "=&w"(y2),
          "=&w"(y3), [r0] "+r"(row[0]), [r1] "+r"(row[1]), [r2] "+r"(row[2]), [r3] "+r"(row[3]),
          [r4] "+r"(row[4]), [r5] "+r"(row[5]), [r6] "+r"(row[6]), [r7] "+r"(row[7])
        :
        : "memory");
    tile[0] = x0, tile[1] = x1, tile[2] = x2, tile[3] = x3;
    tile[4] = y0, tile[5] = y1, tile[6] = y2, tile[7] = y3;
}

/* What is subtracted from a score: a row that sees no key must not compute inf - inf. */
static inline float base_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

#endif
