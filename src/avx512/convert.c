#include "avx512/widen.h"

static inline halves load_first_halves(const uint16_t *p, ptrdiff_t n) {
    return _mm256_maskz_loadu_epi16(first_lanes(n), p);
}

static inline void store_halves(uint16_t *p, halves x, ptrdiff_t n) {
    _mm256_mask_storeu_epi16(p, first_lanes(n), x);
}

static inline halves narrow_f16(vec x) {
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Adding 0x7fff, and 1 where the kept part is odd, carries into it exactly when rounding to nearest
 * even goes up, and turns the largest finite values into infinity. */
static inline halves narrow_bf16(vec x) {
    __m512i bits = _mm512_castps_si512(x);
    __m512i kept = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(kept, _mm512_set1_epi32(1));
    __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    __m512i quiet = _mm512_or_si512(kept, _mm512_set1_epi32(0x40));
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, quiet));
}

void headwise_widen_f16_avx512(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_first(dst + j, widen_f16(load_first_halves(src + j, n - j)), n - j);
}

void headwise_widen_bf16_avx512(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_first(dst + j, widen_bf16(load_first_halves(src + j, n - j)), n - j);
}

void headwise_narrow_f16_avx512(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_halves(dst + j, narrow_f16(load_first(src + j, n - j)), n - j);
}

void headwise_narrow_bf16_avx512(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_halves(dst + j, narrow_bf16(load_first(src + j, n - j)), n - j);
}
