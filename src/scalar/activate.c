/* Activations of rows. */
#include <float.h>

#include "kernels/activate.h"
#include "vec.h"

static float polynomial(const float *terms, int n, float x) {
    float sum = terms[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = multiply_add(sum, x, terms[i]);
    return sum;
}

static float exp2_within(float x) {
    volatile float whole = x + HEADWISE_WHOLE;
    float part = x - (whole - HEADWISE_WHOLE);
    return polynomial(headwise_exp2_terms, HEADWISE_EXP2_TERMS, part) * power_of_two(whole);
}

static float positive_part(float x) {
    return select_max(0.0f, x);
}

static float gelu(float x) {
    float a = select_min(fabsf(x), HEADWISE_TAIL_END);
    float tail = polynomial(headwise_tail_terms, HEADWISE_TAIL_TERMS, a);
    float p = exp2_within(select_max(tail, HEADWISE_EXP2_LEAST));
    return multiply_add(-a, p, positive_part(x));
}

/* t / (1 + exp2(z)) */
static float weigh(float t, float z) {
    z = select_min(select_max(z, HEADWISE_EXP2_LEAST), HEADWISE_EXP2_MOST);
    return t / (1.0f + exp2_within(z));
}

/* Not minus infinity. */
static float hold(float x) {
    return select_max(-FLT_MAX, x);
}

static float silu(float x) {
    return weigh(hold(x), hold(x) * HEADWISE_SILU_SLOPE);
}

static float gelu_quick(float x) {
    return weigh(hold(x), hold(x) * HEADWISE_QUICK_SLOPE);
}

static float gelu_tanh(float x) {
    float t = hold(x);
    return weigh(t, multiply_add(t * t, HEADWISE_TANH_CUBE, HEADWISE_TANH_SLOPE) * t);
}

static float unchanged(float x) {
    return x;
}

static float tanh_of(float x) {
    return Sleef_cinz_tanhf1_u10purec(x);
}

static void run_rows(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                     const float *factor, ptrdiff_t factor_stride, ptrdiff_t m, ptrdiff_t n,
                     float (*f)(float x)) {
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            float result = f(x[i * x_stride + j]);
            y[i * y_stride + j] = factor ? result * factor[i * factor_stride + j] : result;
        }
    }
}

#define ACTIVATION(name, f)                                                                        \
    void TIER(name)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,              \
                    const float *factor, ptrdiff_t factor_stride, ptrdiff_t m, ptrdiff_t n) {      \
        run_rows(y, y_stride, x, x_stride, factor, factor_stride, m, n, f);                        \
    }
ACTIVATION(headwise_activate_none, unchanged)
ACTIVATION(headwise_activate_relu, positive_part)
ACTIVATION(headwise_activate_gelu, gelu)
ACTIVATION(headwise_activate_gelu_tanh, gelu_tanh)
ACTIVATION(headwise_activate_gelu_quick, gelu_quick)
ACTIVATION(headwise_activate_silu, silu)
ACTIVATION(headwise_activate_tanh, tanh_of)
