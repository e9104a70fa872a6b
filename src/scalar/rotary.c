/* Rotation of pairs by given angles. */
#include "vec.h"

void TIER(headwise_rotate_half)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                                const float *restrict cos, const float *restrict sin, ptrdiff_t m,
                                ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            float a = x[i * x_stride + j], b = x[i * x_stride + n + j];
            y[i * y_stride + j] = multiply_add(a, cos[j], -(b * sin[j]));
            y[i * y_stride + n + j] = multiply_add(b, cos[j], a * sin[j]);
        }
    }
}

void TIER(headwise_rotate_interleaved)(float *y, ptrdiff_t y_stride, const float *x,
                                       ptrdiff_t x_stride, const float *restrict cos,
                                       const float *restrict sin, ptrdiff_t m, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            float a = x[i * x_stride + 2 * j], b = x[i * x_stride + 2 * j + 1];
            y[i * y_stride + 2 * j] = multiply_add(a, cos[j], -(b * sin[j]));
            y[i * y_stride + 2 * j + 1] = multiply_add(b, cos[j], a * sin[j]);
        }
    }
}
