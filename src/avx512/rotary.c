#include "vec.h"

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return _mm512_fmsub_ps(a, b, c);
}

/* From elements 0 ... 15 and 16 ... 31 to the even ones and the odd ones. */
static inline void deinterleave(vec *low, vec *high) {
    __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
    vec even = _mm512_permutex2var_ps(*low, evens, *high);
    *high = _mm512_permutex2var_ps(*low, odds, *high);
    *low = even;
}

static inline void interleave(vec *even, vec *odd) {
    __m512i lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
    vec low = _mm512_permutex2var_ps(*even, lower, *odd);
    *odd = _mm512_permutex2var_ps(*even, upper, *odd);
    *even = low;
}

#define headwise_rotate_half_simd headwise_rotate_half_avx512
#define headwise_rotate_interleaved_simd headwise_rotate_interleaved_avx512
#include "simd/rotary.h"
