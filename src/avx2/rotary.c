#include "vec.h"

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return _mm256_fmsub_ps(a, b, c);
}

/* From elements 0 ... 7 and 8 ... 15 to the even ones and the odd ones. */
static inline void deinterleave(vec *low, vec *high) {
    vec even = _mm256_shuffle_ps(*low, *high, 0x88); /* by halves: 0 2 8 10, 4 6 12 14 */
    vec odd = _mm256_shuffle_ps(*low, *high, 0xdd);
    *low = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
    *high = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odd), 0xd8));
}

static inline void interleave(vec *even, vec *odd) {
    vec low = _mm256_unpacklo_ps(*even, *odd); /* pairs 0 1, 4 5 */
    vec high = _mm256_unpackhi_ps(*even, *odd);
    *even = _mm256_permute2f128_ps(low, high, 0x20);
    *odd = _mm256_permute2f128_ps(low, high, 0x31);
}

#define headwise_rotate_half_simd headwise_rotate_half_avx2
#define headwise_rotate_interleaved_simd headwise_rotate_interleaved_avx2
#include "simd/rotary.h"
