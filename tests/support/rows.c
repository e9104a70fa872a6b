/* Norms and sums of rows, one operation after the other. */
#include "rows.h"

#include <math.h>

#include "guard.h"
#include "rng.h"

float rows_fma(enum headwise_isa isa, float a, float b, float c) {
    volatile float product = a * b;
    return isa == HEADWISE_ISA_SCALAR ? product + c : fmaf(a, b, c);
}

static float fold(float lane[16]) {
    for (int width = 8; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

void rows_norm(enum headwise_isa isa, const struct headwise_row_norm *norm, float *y,
               const float *x, size_t n) {
    float sum[16] = {0}, squares[16] = {0}, mean = 0;
    float eps = norm->eps > 0 ? norm->eps : 1e-6f, one = norm->adds_one ? 1.0f : 0.0f;
    for (size_t j = 0; norm->norm == HEADWISE_NORM_LAYER && j < n; j++)
        sum[j % 16] += x[j];
    if (norm->norm == HEADWISE_NORM_LAYER)
        mean = fold(sum) / (float)n;
    for (size_t j = 0; j < n; j++)
        squares[j % 16] = rows_fma(isa, x[j] - mean, x[j] - mean, squares[j % 16]);
    float inverse = 1 / sqrtf(fold(squares) / (float)n + eps);
    for (size_t j = 0; j < n; j++) {
        float t = (x[j] - mean) * inverse;
        float weight = norm->weights ? one + norm->weights[j] : 1;
        y[j] = norm->bias ? rows_fma(isa, t, weight, norm->bias[j]) : t * weight;
    }
}

struct headwise_row_norm rows_random_norm(struct test_rng *rng, int kind, size_t n) {
    float *weights = guard_floats(n), *bias = guard_floats(n);
    test_rng_fill(rng, weights, n, 2);
    test_rng_fill(rng, bias, n, 1);
    return (struct headwise_row_norm){
        .size = sizeof(struct headwise_row_norm),
        .norm = kind & 1 ? HEADWISE_NORM_LAYER : HEADWISE_NORM_RMS,
        .weights = kind & 2 ? weights : NULL,
        .bias = kind & 4 ? bias : NULL,
        .eps = kind & 1 ? 1e-5f : 0,
        .adds_one = kind % 3 == 0,
    };
}
