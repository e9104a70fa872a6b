#include "avx512/widen.h"

/* The first n of LANES floats within [-127, 127], rounded to nearest even. */
static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    __m512i wide = _mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_mask_storeu_epi8(p, first_lanes(n), _mm512_cvtepi32_epi8(wide));
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

#define headwise_quantize_i8_simd headwise_quantize_i8_avx512
#define headwise_scale_row_i8_simd headwise_scale_row_i8_avx512
#define headwise_quantize_row_i8_simd headwise_quantize_row_i8_avx512
#define headwise_widen_keys_i8_simd headwise_widen_keys_i8_avx512
#define headwise_widen_values_i8_simd headwise_widen_values_i8_avx512
#include "simd/quant.h"
