/* 16-bit floating point, one value at a time. The core converts whole rows by vector kernels; files
 * are converted once, on any processor, by this. */
#ifndef HEADWISE_IO_HALF_H
#define HEADWISE_IO_HALF_H

#include <stdint.h>
#include <string.h>

static inline float headwise_io_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t headwise_io_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float headwise_io_f32_from_f16(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) /* infinity, NaN with its payload */
        return headwise_io_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400) /* the exponent's bias goes from 15 to 127 */
        return headwise_io_float(sign | ((magnitude << 13) + (112u << 23)));
    float value = (float)magnitude * 0x1p-24f; /* subnormal or 0: exact */
    return headwise_io_float(sign | headwise_io_bits(value));
}

static inline uint16_t headwise_io_f16_from_f32(float x) {
    uint32_t bits = headwise_io_bits(x), magnitude = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* 65520, half way to the value after the largest */
        return sign | 0x7c00;
    if (magnitude >= 0x38800000) { /* normal: carry into the kept bits, half to even */
        magnitude += 0xfff + (magnitude >> 13 & 1);
        return (uint16_t)(sign | (magnitude - (112u << 23)) >> 13);
    }
    /* Below 2^-14 f16's step is 2^-24, that of f32 in [0.5, 1): the addition rounds. */
    float rounded = headwise_io_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (headwise_io_bits(rounded) - 0x3f000000));
}

static inline float headwise_io_f32_from_bf16(uint16_t half) {
    return headwise_io_float((uint32_t)half << 16);
}

static inline uint16_t headwise_io_bf16_from_f32(float x) {
    uint32_t bits = headwise_io_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
