#include "avx2/widen.h"

static inline halves load_first_halves(const uint16_t *p, ptrdiff_t n) {
    halves x = _mm_setzero_si128();
    memcpy(&x, p, (size_t)(n >= LANES ? LANES : n) * sizeof *p);
    return x;
}

static inline void store_halves(uint16_t *p, halves x, ptrdiff_t n) {
    memcpy(p, &x, (size_t)(n >= LANES ? LANES : n) * sizeof *p);
}

static inline halves narrow_f16(vec x) {
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Adding 0x7fff, and 1 where the kept part is odd, carries into it exactly when rounding to nearest
 * even goes up, and turns the largest finite values into infinity. */
static inline halves narrow_bf16(vec x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i kept = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
    __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(0x40));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    __m256i narrow = _mm256_blendv_epi8(rounded, quiet, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(narrow), _mm256_extracti128_si256(narrow, 1));
}

void headwise_widen_f16_avx2(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_first(dst + j, widen_f16(load_first_halves(src + j, n - j)), n - j);
}

void headwise_widen_bf16_avx2(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_first(dst + j, widen_bf16(load_first_halves(src + j, n - j)), n - j);
}

void headwise_narrow_f16_avx2(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_halves(dst + j, narrow_f16(load_first(src + j, n - j)), n - j);
}

void headwise_narrow_bf16_avx2(uint16_t *restrict dst, const float *restrict src, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES)
        store_halves(dst + j, narrow_bf16(load_first(src + j, n - j)), n - j);
}
