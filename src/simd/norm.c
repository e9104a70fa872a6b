/* Norms of rows. */
#include "vec.h"

/* 1 / sqrt(mean of the squares + eps); shift is subtracted from the elements first. */
static float inverse_deviation(const float *x, ptrdiff_t n, float shift, float eps) {
    vec lane[SUM_VECS];
    for (int v = 0; v < SUM_VECS; v++)
        lane[v] = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        for (int v = 0; v < SUM_VECS && j + v * LANES < n; v++) {
            ptrdiff_t left = n - j - v * LANES;
            vec d = subtract(load_first(x + j + v * LANES, left), broadcast(shift));
            d = select_first(left, d, broadcast(0.0f));
            lane[v] = multiply_add(d, d, lane[v]);
        }
    }
    return 1.0f / sqrtf(fold_sum(lane) / (float)n + eps);
}

static float mean_of_row(const float *x, ptrdiff_t n) {
    vec lane[SUM_VECS];
    for (int v = 0; v < SUM_VECS; v++)
        lane[v] = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        for (int v = 0; v < SUM_VECS && j + v * LANES < n; v++)
            lane[v] = add(lane[v], load_first(x + j + v * LANES, n - j - v * LANES));
    }
    return fold_sum(lane) / (float)n;
}

static void scale_row(float *y, const float *x, const float *weight, const float *bias, ptrdiff_t n,
                      float shift, float inverse) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec d = subtract(load_first(x + j, n - j), broadcast(shift));
        vec t = multiply(d, broadcast(inverse));
        vec w = load_first(weight + j, n - j);
        vec scaled = bias ? multiply_add(t, w, load_first(bias + j, n - j)) : multiply(t, w);
        store_first(y + j, scaled, n - j);
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
