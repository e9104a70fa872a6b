/* Rows to 8-bit integers and panels of them to f32. */
#include "vec.h"

static float scale_of_row(const float *x, ptrdiff_t n) {
    float largest = 0.0f;
    for (ptrdiff_t j = 0; j < n; j++) {
        float magnitude = fabsf(x[j]);
        if (!isfinite(magnitude))
            return NAN;
        largest = magnitude > largest ? magnitude : largest;
    }
    return headwise_scale_i8(largest);
}

static void quantize_row(int8_t *restrict q, const float *restrict x, float scale, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++)
        q[j] = isnan(scale) ? 0 : (int8_t)nearest_integer(x[j] / scale);
}

void TIER(headwise_quantize_i8)(int8_t *restrict q, float *restrict scales, const float *restrict x,
                                ptrdiff_t n) {
    for (ptrdiff_t first = 0; first < n; first += HEADWISE_SCALE_GROUP) {
        ptrdiff_t count = n - first < HEADWISE_SCALE_GROUP ? n - first : HEADWISE_SCALE_GROUP;
        float scale = scale_of_row(x + first, count);
        scales[first / HEADWISE_SCALE_GROUP] = scale;
        quantize_row(q + first, x + first, scale, count);
    }
}

void TIER(headwise_widen_keys_i8)(float *restrict dst, const int8_t *restrict src,
                                  const float *restrict scales, int n, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        for (int j = 0; j < n; j++)
            dst[t * n + j] = (float)src[t * n + j] * scales[t / HEADWISE_SCALE_GROUP * n + j];
    }
}

void TIER(headwise_widen_values_i8)(float *restrict dst, const int8_t *restrict src,
                                    const float *restrict scales, int n, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        for (int j = 0; j < n; j++)
            dst[t * n + j] = (float)src[t * n + j] * scales[t];
    }
}
