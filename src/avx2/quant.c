#include "avx2/widen.h"

/* The first n of LANES floats within [-127, 127], rounded to nearest even. */
static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    vec rounded = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i wide = _mm256_cvttps_epi32(rounded);
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    __m128i bytes = _mm_packs_epi16(words, words);
    memcpy(p, &bytes, (size_t)(n >= LANES ? LANES : n));
}

/* Of a group whose largest magnitude is in one of the lanes. */
static inline float scale_of(vec magnitude) {
    float lanes[LANES];
    store(lanes, magnitude);
    float largest = lanes[0];
    for (int l = 1; l < LANES; l++)
        largest = lanes[l] > largest ? lanes[l] : largest;
    return is_finite(magnitude) ? headwise_scale_i8(largest) : NAN;
}

#define headwise_quantize_i8_simd headwise_quantize_i8_avx2
#define headwise_scale_row_i8_simd headwise_scale_row_i8_avx2
#define headwise_quantize_row_i8_simd headwise_quantize_row_i8_avx2
#define headwise_widen_keys_i8_simd headwise_widen_keys_i8_avx2
#define headwise_widen_values_i8_simd headwise_widen_values_i8_avx2
#include "simd/quant.h"
