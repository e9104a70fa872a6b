#include "vec.h"

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return vfmaq_f32(vnegq_f32(c), a, b);
}

/* From elements 0 ... 3 and 4 ... 7 to the even ones and the odd ones. */
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

#define headwise_rotate_half_simd headwise_rotate_half_neon
#define headwise_rotate_interleaved_simd headwise_rotate_interleaved_neon
#include "simd/rotary.h"
