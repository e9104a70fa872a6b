/* Narrow numbers as f32. */
#ifndef HEADWISE_SCALAR_WIDEN_H
#define HEADWISE_SCALAR_WIDEN_H

#include "vec.h"

static inline uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float widen_one_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) { /* infinity, or NaN made quiet */
        uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0;
        return float_of(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
    }
    /* Moved into f32's fields the exponent is 2^112 too small; the product mends it exactly, and
     * subnormals with it. */
    return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

static inline float widen_one_bf16(uint16_t h) {
    return float_of((uint32_t)h << 16);
}

#endif
