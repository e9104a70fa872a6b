/* Norms of rows. */
#include "vec.h"

/* 1 / sqrt(mean of the squares + eps); shift is subtracted from the elements first. */
static float inverse_deviation(const float *x, ptrdiff_t n, float shift, float eps) {
    float lane[HEADWISE_SUM_LANES] = {0};
    for (ptrdiff_t j = 0; j < n; j++) {
        float d = x[j] - shift;
        lane[j % HEADWISE_SUM_LANES] = multiply_add(d, d, lane[j % HEADWISE_SUM_LANES]);
    }
    return 1.0f / sqrtf(fold_lanes(lane) / (float)n + eps);
}

static float mean_of_row(const float *x, ptrdiff_t n) {
    float lane[HEADWISE_SUM_LANES] = {0};
    for (ptrdiff_t j = 0; j < n; j++)
        lane[j % HEADWISE_SUM_LANES] += x[j];
    return fold_lanes(lane) / (float)n;
}

static void scale_row(float *y, const float *x, const float *weight, const float *bias, ptrdiff_t n,
                      float shift, float inverse) {
    for (ptrdiff_t j = 0; j < n; j++) {
        float t = (x[j] - shift) * inverse;
        y[j] = bias ? multiply_add(t, weight[j], bias[j]) : t * weight[j];
    }
}

void TIER(headwise_norm_rms)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                             const float *restrict weight, const float *restrict bias, ptrdiff_t m,
                             ptrdiff_t n, float eps) {
    for (ptrdiff_t i = 0; i < m; i++) {
        const float *row = x + i * x_stride;
        float inverse = inverse_deviation(row, n, 0.0f, eps);
        scale_row(y + i * y_stride, row, weight, bias, n, 0.0f, inverse);
    }
}

void TIER(headwise_norm_layer)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                               const float *restrict weight, const float *restrict bias,
                               ptrdiff_t m, ptrdiff_t n, float eps) {
    for (ptrdiff_t i = 0; i < m; i++) {
        const float *row = x + i * x_stride;
        float mean = mean_of_row(row, n);
        float inverse = inverse_deviation(row, n, mean, eps);
        scale_row(y + i * y_stride, row, weight, bias, n, mean, inverse);
    }
}
