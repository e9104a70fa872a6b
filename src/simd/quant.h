/* The body of quant.c for the SIMD tiers, over the vocabulary of vec.h. The includer has defined
 * the kernels' names, and
 *   load_integers(p)          LANES integers as floats
 *   store_integers(p, x, n)   the first n of LANES floats within [-127, 127], rounded to nearest
 * even
 */

float headwise_scale_row_i8_simd(const float *x, ptrdiff_t n) {
    vec magnitude = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += LANES)
        magnitude = select_magnitude(load_first(x + j, n - j), magnitude);
    return scale_of(magnitude);
}

void headwise_quantize_row_i8_simd(int8_t *restrict q, const float *restrict x, float scale,
                                   ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec part = divide(load_first(x + j, n - j), broadcast(scale));
        store_integers(q + j, select_nan(part, broadcast(0.0f), part), n - j);
    }
}

void headwise_quantize_i8_simd(int8_t *restrict q, float *restrict scales, const float *restrict x,
                               ptrdiff_t n) {
    for (ptrdiff_t first = 0; first < n; first += HEADWISE_SCALE_GROUP) {
        ptrdiff_t count = n - first < HEADWISE_SCALE_GROUP ? n - first : HEADWISE_SCALE_GROUP;
        float scale = headwise_scale_row_i8_simd(x + first, count);
        scales[first / HEADWISE_SCALE_GROUP] = scale;
        headwise_quantize_row_i8_simd(q + first, x + first, scale, count);
    }
}

void headwise_widen_keys_i8_simd(float *restrict dst, const int8_t *restrict src,
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

void headwise_widen_values_i8_simd(float *restrict dst, const int8_t *restrict src,
                                   const float *restrict scales, int n, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t++) {
        vec scale = broadcast(scales[t]);
        for (int j = 0; j < n; j += LANES)
            store(dst + t * n + j, multiply(load_integers(src + t * n + j), scale));
    }
}
