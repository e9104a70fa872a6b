/* Sums of products of bytes by AVX-VNNI. The instruction is assembly in the encoding that this
 * extension has, so that no compiler needs a flag for it; headwise_dot_get() asks for the feature.
 */
#include "vec.h"

enum { DOT_ROWS = 6, DOT_CHAINS = 12 };

typedef ints sums;
typedef ints fours;
typedef ints quads;

ALWAYS_INLINE fours load_fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

ALWAYS_INLINE quads load_quads(const int8_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

ALWAYS_INLINE sums no_sums(void) {
    return _mm256_setzero_si256();
}

ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(x), "x"(w));
    return s;
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return _mm256_add_epi32(a, b);
}

ALWAYS_INLINE ints total_of(sums s) {
    return s;
}

#include "simd/dot.h"

DEFINE_DOT(avxvnni)
