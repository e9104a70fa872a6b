/* Sums of products of bytes by AVX-512 VNNI. */
#include "vec.h"

enum { DOT_ROWS = 12, DOT_CHAINS = 24 };

typedef ints sums;
typedef ints fours;
typedef ints quads;

ALWAYS_INLINE fours load_fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}

ALWAYS_INLINE quads load_quads(const int8_t *p) {
    return _mm512_loadu_si512(p);
}

ALWAYS_INLINE sums no_sums(void) {
    return _mm512_setzero_si512();
}

/* In place: with the intrinsic gcc 12 copies sums from register to register. */
ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return _mm512_add_epi32(a, b);
}

ALWAYS_INLINE ints total_of(sums s) {
    return s;
}

#include "simd/dot.h"

DEFINE_DOT(vnni)
