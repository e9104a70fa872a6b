/* Sums of products of bytes by NEON's products of 16 bits, which every aarch64 has. */
#include "vec.h"

enum { DOT_ROWS = 2, DOT_CHAINS = 8 };

/* Sums of two products each, of the lower two columns and of the upper two: one of two products of
 * -128 and -128 would not fit 16 bits. */
typedef struct {
    int32x4_t lower, upper;
} sums;
typedef int8x16_t fours;
typedef int8x16_t quads;

ALWAYS_INLINE fours load_fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

ALWAYS_INLINE quads load_quads(const int8_t *p) {
    return vld1q_s8(p);
}

ALWAYS_INLINE sums no_sums(void) {
    return (sums){vdupq_n_s32(0), vdupq_n_s32(0)};
}

ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    s.lower = vpadalq_s16(s.lower, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    s.upper = vpadalq_s16(s.upper, vmull_high_s8(x, w));
    return s;
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return (sums){vaddq_s32(a.lower, b.lower), vaddq_s32(a.upper, b.upper)};
}

ALWAYS_INLINE ints total_of(sums s) {
    return vpaddq_s32(s.lower, s.upper);
}

#include "simd/dot.h"

DEFINE_DOT(neon)
