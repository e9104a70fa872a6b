/* Rows rounded to bytes. */
#include "kernels/dot.h"
#include "vec.h"

/* Of components from low to high. */
static struct headwise_rounding rounding_of(float low, float high) {
    float scale = high / 255.0f - low / 255.0f;
    scale = scale > 0x1p-126f ? scale : 0x1p-126f;
    float inverse = 1.0f / scale;
    float zero = nearest_integer(0.0f - low * inverse);
    return (struct headwise_rounding){scale, inverse, zero, (int32_t)zero};
}

void TIER(headwise_measure_rows)(struct headwise_rounding *restrict roundings,
                                 const float *restrict x, ptrdiff_t x_stride, ptrdiff_t m,
                                 ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < m; i++, x += x_stride) {
        float low = 0.0f, high = 0.0f;
        bool finite = true;
        for (ptrdiff_t j = 0; j < n; j++) {
            finite = finite && isfinite(x[j]);
            low = x[j] < low ? x[j] : low;
            high = x[j] > high ? x[j] : high;
        }
        roundings[i] =
            finite ? rounding_of(low, high) : (struct headwise_rounding){NAN, 0.0f, 0.0f, 0};
    }
}

static uint8_t byte_of(float x, const struct headwise_rounding *rounding) {
    float u = nearest_integer(multiply_add(x, rounding->inverse, rounding->zero));
    return (uint8_t)(u < 0.0f ? 0.0f : u > 255.0f ? 255.0f : u);
}

void TIER(headwise_round_rows)(uint8_t *restrict bytes, ptrdiff_t bytes_stride,
                               const float *restrict x, ptrdiff_t x_stride,
                               const struct headwise_rounding *restrict roundings, ptrdiff_t m,
                               ptrdiff_t k) {
    ptrdiff_t padded = (k + HEADWISE_DOT_STEP - 1) / HEADWISE_DOT_STEP * HEADWISE_DOT_STEP;
    for (ptrdiff_t i = 0; i < m; i++, x += x_stride, bytes += bytes_stride) {
        memset(bytes, 0, (size_t)padded);
        for (ptrdiff_t j = 0; j < k && !isnan(roundings[i].scale); j++)
            bytes[j] = byte_of(x[j], roundings + i);
    }
}
