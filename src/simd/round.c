/* Rows rounded to bytes. */
#include "kernels/dot.h"
#include "vec.h"

/* Of components from low to high. */
static struct headwise_rounding rounding_of(float low, float high) {
    float scale = high / 255.0f - low / 255.0f;
    scale = scale > 0x1p-126f ? scale : 0x1p-126f;
    float inverse = 1.0f / scale;
    float zero = nearest_integer(0.0f - low * inverse);
    return (struct headwise_rounding){scale, inverse, zero, (int32_t)zero - BYTE_OFFSET};
}

void TIER(headwise_measure_rows)(struct headwise_rounding *restrict roundings,
                                 const float *restrict x, ptrdiff_t x_stride, ptrdiff_t m,
                                 ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < m; i++, x += x_stride) {
        vec magnitude = broadcast(0.0f), least = magnitude, most = magnitude;
        for (ptrdiff_t j = 0; j < n; j += LANES) {
            vec part = load_first(x + j, n - j);
            magnitude = select_magnitude(part, magnitude);
            least = select_min(part, least);
            most = select_max(part, most);
        }
        float lows[LANES], highs[LANES], low = 0.0f, high = 0.0f;
        store(lows, least);
        store(highs, most);
        for (int l = 0; l < LANES; l++) {
            low = lows[l] < low ? lows[l] : low;
            high = highs[l] > high ? highs[l] : high;
        }
        roundings[i] = is_finite(magnitude)
                           ? rounding_of(low, high)
                           : (struct headwise_rounding){NAN, 0.0f, 0.0f, -BYTE_OFFSET};
    }
}

void TIER(headwise_round_rows)(uint8_t *restrict bytes, ptrdiff_t bytes_stride,
                               const float *restrict x, ptrdiff_t x_stride,
                               const struct headwise_rounding *restrict roundings, ptrdiff_t m,
                               ptrdiff_t k) {
    ptrdiff_t padded = (k + HEADWISE_DOT_STEP - 1) / HEADWISE_DOT_STEP * HEADWISE_DOT_STEP;
    for (ptrdiff_t i = 0; i < m; i++, x += x_stride, bytes += bytes_stride) {
        vec inverse = broadcast(roundings[i].inverse), zero = broadcast(roundings[i].zero);
        bool finite = !isnan(roundings[i].scale);
        for (ptrdiff_t j = 0; j < padded; j += LANES) {
            vec part = finite ? load_first(x + j, k - j) : broadcast(0.0f);
            store_bytes(bytes + j, multiply_add(part, inverse, zero));
        }
    }
}
