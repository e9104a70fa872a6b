/* Sums of products of bytes by products of 16-bit integers, which never saturate. */
#include "vec.h"

enum { DOT_ROWS = 3, DOT_CHAINS = 6 };

/* Four bytes of 32 bits as two numbers of 16 bits: bytes 0 and 2, and bytes 1 and 3. */
typedef ints sums;
typedef struct {
    ints even, odd;
} fours;
typedef fours quads;

ALWAYS_INLINE fours load_fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    ints x = _mm256_set1_epi32(four);
    return (fours){_mm256_and_si256(x, _mm256_set1_epi32(0x00ff00ff)), _mm256_srli_epi16(x, 8)};
}

ALWAYS_INLINE quads load_quads(const int8_t *p) {
    ints w = _mm256_loadu_si256((const __m256i *)p);
    return (quads){_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
}

ALWAYS_INLINE sums no_sums(void) {
    return _mm256_setzero_si256();
}

ALWAYS_INLINE sums add_products(sums s, fours x, quads w) {
    s = _mm256_add_epi32(s, _mm256_madd_epi16(x.even, w.even));
    return _mm256_add_epi32(s, _mm256_madd_epi16(x.odd, w.odd));
}

ALWAYS_INLINE sums join_sums(sums a, sums b) {
    return _mm256_add_epi32(a, b);
}

ALWAYS_INLINE ints total_of(sums s) {
    return s;
}

#include "simd/dot.h"

DEFINE_DOT(avx2)
