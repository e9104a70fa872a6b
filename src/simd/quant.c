/* Rows to 8-bit integers and panels of them to f32. */
#include "vec.h"

/* Of a group whose largest magnitude is in one of the lanes. */
static inline float scale_of(vec magnitude) {
    float lanes[LANES];
    store(lanes, magnitude);
    float largest = lanes[0];
    for (int l = 1; l < LANES; l++)
        largest = lanes[l] > largest ? lanes[l] : largest;
    return is_finite(magnitude) ? headwise_scale_i8(largest) : NAN;
}

static float scale_of_row(const float *x, ptrdiff_t n) {
    vec magnitude = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += LANES)
        magnitude = select_magnitude(load_first(x + j, n - j), magnitude);
    return scale_of(magnitude);
}

static void quantize_row(int8_t *restrict q, const float *restrict x, float scale, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec part = divide(load_first(x + j, n - j), broadcast(scale));
        store_integers(q + j, select_nan(part, broadcast(0.0f), part), n - j);
    }
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
    for (ptrdiff_t first = 0; first < k; first += HEADWISE_SCALE_GROUP) {
        ptrdiff_t end = k - first < HEADWISE_SCALE_GROUP ? k : first + HEADWISE_SCALE_GROUP;
        for (int j = 0; j < n; j += LANES) {
            vec scale = load(scales + first / HEADWISE_SCALE_GROUP * n + j);
            for (ptrdiff_t t = first; t < end; t++)
                store(dst + t * n + j, multiply(load_integers(src + t * n + j), scale));
        }
    }
}

void TIER(headwise_widen_values_i8)(float *restrict dst, const int8_t *restrict src,
                                    const float *restrict scales, int n, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        vec scale = broadcast(scales[t]);
        for (int j = 0; j < n; j += LANES)
            store(dst + t * n + j, multiply(load_integers(src + t * n + j), scale));
    }
}
