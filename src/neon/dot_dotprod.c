/* Sums of products of bytes by NEON's dot product extension. The instruction is assembly, so that
 * no compiler needs a flag for it; headwise_dot_get() asks for the feature. */
#include "vec.h"

enum { DOT_ROWS = 4, DOT_CHAINS = 16 };

typedef ints sums;
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
    return vdupq_n_s32(0);
}

ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(s) : "w"(w), "w"(x));
    return s;
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return vaddq_s32(a, b);
}

ALWAYS_INLINE ints total_of(sums s) {
    return s;
}

#include "simd/dot.h"

DEFINE_DOT(dotprod)
