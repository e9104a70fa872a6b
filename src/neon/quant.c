#include "neon/widen.h"

/* The first n of LANES floats within [-127, 127], rounded to nearest even. */
static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    int16x4_t words = vmovn_s32(vcvtnq_s32_f32(x));
    int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
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

#define headwise_quantize_i8_simd headwise_quantize_i8_neon
#define headwise_scale_row_i8_simd headwise_scale_row_i8_neon
#define headwise_quantize_row_i8_simd headwise_quantize_row_i8_neon
#define headwise_widen_keys_i8_simd headwise_widen_keys_i8_neon
#define headwise_widen_values_i8_simd headwise_widen_values_i8_neon
#include "simd/quant.h"
