/* Sums of products of bytes by products of 16-bit integers, which never saturate. */
#include "vec.h"

enum { DOT_ROWS = 9, DOT_CHAINS = 18 };

/* Four bytes of 32 bits as two numbers of 16 bits: bytes 0 and 2, and bytes 1 and 3. */
typedef ints sums;
typedef struct {
    ints even, odd;
} fours;
typedef fours quads;

ALWAYS_INLINE fours load_fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    ints x = _mm512_set1_epi32(four);
    return (fours){_mm512_and_si512(x, _mm512_set1_epi32(0x00ff00ff)), _mm512_srli_epi16(x, 8)};
}

ALWAYS_INLINE quads load_quads(const int8_t *p) {
    ints w = _mm512_loadu_si512(p);
    return (quads){_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), _mm512_srai_epi16(w, 8)};
}

ALWAYS_INLINE sums no_sums(void) {
    return _mm512_setzero_si512();
}

ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    s = _mm512_add_epi32(s, _mm512_madd_epi16(x.even, w.even));
    return _mm512_add_epi32(s, _mm512_madd_epi16(x.odd, w.odd));
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return _mm512_add_epi32(a, b);
}

ALWAYS_INLINE ints total_of(sums s) {
    return s;
}

#include "simd/dot.h"

DEFINE_DOT(avx512)
