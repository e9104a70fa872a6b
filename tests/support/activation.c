/* Activations in float64, and their derived bounds. */
#include "activation.h"

#include <math.h>

#include "bounds.h"

#define LN2 0.69314718055994531
#define SQRT_HALF 0.70710678118654752

const char *activation_name(enum headwise_activation activation) {
    static const char *const names[] = {"none",       "relu", "gelu", "gelu_tanh",
                                        "gelu_quick", "silu", "tanh"};
    return names[activation];
}

/* x / (1 + exp(-k)), without an overflow. */
static double weigh(double x, double k) {
    if (isinf(x))
        return x > 0 ? x : -0.0;
    return x / (1 + exp(-k));
}

static double cubic(double x) {
    return 2 * sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
}

static double tail(double a) {
    return erfc(a * SQRT_HALF) / 2;
}

double activation_exact(enum headwise_activation activation, double x) {
    switch (activation) {
    case HEADWISE_ACTIVATION_RELU:
        return x > 0 ? x : isnan(x) ? x : 0;
    case HEADWISE_ACTIVATION_GELU:
        return isinf(x) ? (x > 0 ? x : 0) : x * tail(-x);
    case HEADWISE_ACTIVATION_GELU_TANH:
        return weigh(x, cubic(x));
    case HEADWISE_ACTIVATION_GELU_QUICK:
        return weigh(x, 1.702 * x);
    case HEADWISE_ACTIVATION_SILU:
        return weigh(x, x);
    case HEADWISE_ACTIVATION_TANH:
        return tanh(x);
    default:
        return x;
    }
}

/* Relative error of the polynomial for 2^f: its coefficients are within 0.27 u, and six steps of at
 * most two roundings each meet terms whose sum is below sqrt(2), where 2^f is above sqrt(1/2); then
 * times the power of two. */
static double exp2_error(void) {
    return 0.27 * BOUND_U + 2 * bound_gamma(12) + BOUND_U;
}

/* How far P is from log2 of the tail, in units of u of it, by intervals (kernels/activate.h). */
static double fit_error(double a) {
    return a <= 3 ? 0.64 : a <= 4 ? 1.1 : a <= 5 ? 3.3 : 13.6;
}

/* The tail's relative error is that of its logarithm times ln 2, and exp2's. Ten steps, of two
 * roundings at most, meet terms whose sum is at most 2.3 times |P| up to a = 6. From there on P is
 * below the logarithm, and the tail that is computed at most the tail. */
static double gelu_bound(double x) {
    double a = fabs(x), p = tail(a), y = fabs(activation_exact(HEADWISE_ACTIVATION_GELU, x));
    if (a > 6)
        return a * p * (1 + bound_gamma(200)) + BOUND_U * y + BOUND_TINY;
    double logarithm = fabs(log2(p));
    double relative =
        expm1(LN2 * logarithm * (fit_error(a) * BOUND_U + 2.3 * bound_gamma(20))) + exp2_error();
    return a * p * (relative + 2 * BOUND_U) + BOUND_U * y + BOUND_TINY;
}

/* x / (1 + e), e = 2^z with at most n roundings in z; 1 + e and the quotient are rounded. Where z
 * is held, beyond 126, both y are below |x| 2^-126, and x below 2^7 or the power infinite. */
static double weighed_bound(double y, double k, double n) {
    double z = fabs(k) / LN2;
    if (z > 126)
        return (k < 0 ? 0x1p-118 : 0) + 3 * BOUND_U * fabs(y) + BOUND_TINY;
    double relative = expm1(LN2 * z * bound_gamma(n)) + exp2_error();
    double share = 1 / (1 + exp(k)); /* e / (1 + e) */
    return fabs(y) * (share * relative * (1 + relative) + 3 * BOUND_U) + BOUND_TINY;
}

double activation_bound(enum headwise_activation activation, float x32) {
    double x = (double)x32, y = activation_exact(activation, x);
    if (!isfinite(x))
        return 0;
    switch (activation) {
    case HEADWISE_ACTIVATION_GELU:
        return gelu_bound(x);
    case HEADWISE_ACTIVATION_GELU_TANH:
        return weighed_bound(y, cubic(x), 6);
    case HEADWISE_ACTIVATION_GELU_QUICK:
        return weighed_bound(y, 1.702 * x, 2);
    case HEADWISE_ACTIVATION_SILU:
        return weighed_bound(y, x, 2);
    case HEADWISE_ACTIVATION_TANH:
        return BOUND_U10 * fabs(y) + BOUND_TINY;
    default:
        return 0;
    }
}
