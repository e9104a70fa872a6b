/* Narrow numbers as f32. */
#ifndef HEADWISE_NEON_WIDEN_H
#define HEADWISE_NEON_WIDEN_H

#include "vec.h"

typedef uint16x4_t halves;

static inline halves load_halves(const uint16_t *p) {
    return vld1_u16(p);
}

/* Quiets NaN, keeps its payload; infinity, zero's sign and subnormals come out exactly. */
static inline vec widen_f16(halves x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(x));
}

static inline vec widen_bf16(halves x) {
    return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
}

/* LANES integers as floats. */
static inline vec load_integers(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    int16x8_t words = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(words)));
}

#endif
