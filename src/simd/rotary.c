/* Rotation of pairs by given angles. */
#include "vec.h"

/* (a, b) turned: a = a * cos - b * sin, b = b * cos + a * sin. */
static inline void turn(vec *a, vec *b, vec cos, vec sin) {
    vec turned = multiply_subtract(*a, cos, multiply(*b, sin));
    *b = multiply_add(*b, cos, multiply(*a, sin));
    *a = turned;
}

void TIER(headwise_rotate_half)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                                const float *restrict cos, const float *restrict sin, ptrdiff_t m,
                                ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec cosine = load_first(cos + j, n - j);
        vec sine = load_first(sin + j, n - j);
        for (ptrdiff_t i = 0; i < m; i++) {
            vec a = load_first(x + i * x_stride + j, n - j);
            vec b = load_first(x + i * x_stride + n + j, n - j);
            turn(&a, &b, cosine, sine);
            store_first(y + i * y_stride + j, a, n - j);
            store_first(y + i * y_stride + n + j, b, n - j);
        }
    }
}

void TIER(headwise_rotate_interleaved)(float *y, ptrdiff_t y_stride, const float *x,
                                       ptrdiff_t x_stride, const float *restrict cos,
                                       const float *restrict sin, ptrdiff_t m, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec cosine = load_first(cos + j, n - j);
        vec sine = load_first(sin + j, n - j);
        ptrdiff_t left = 2 * (n - j), second = left > LANES ? LANES : 0;
        for (ptrdiff_t i = 0; i < m; i++) {
            const float *from = x + i * x_stride + 2 * j;
            float *to = y + i * y_stride + 2 * j;
            vec a = load_first(from, left);
            vec b = load_first(from + second, left - LANES);
            deinterleave(&a, &b);
            turn(&a, &b, cosine, sine);
            interleave(&a, &b);
            store_first(to, a, left);
            store_first(to + second, b, left - LANES);
        }
    }
}
