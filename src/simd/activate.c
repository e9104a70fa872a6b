/* Activations of rows. */
#include <float.h>

#include "simd/exponent.h"

ALWAYS_INLINE vec positive_part(vec x) {
    return select_max(broadcast(0.0f), x);
}

ALWAYS_INLINE vec gelu(vec x) {
    vec a = select_min(absolute(x), broadcast(HEADWISE_TAIL_END));
    vec tail = polynomial(headwise_tail_terms, HEADWISE_TAIL_TERMS, a);
    vec p = exp2_within(select_max(tail, broadcast(HEADWISE_EXP2_LEAST)));
    return multiply_add(subtract(broadcast(-0.0f), a), p, positive_part(x));
}

/* t / (1 + exp2(z)) */
ALWAYS_INLINE vec weigh(vec t, vec z) {
    z = select_min(select_max(z, broadcast(HEADWISE_EXP2_LEAST)), broadcast(HEADWISE_EXP2_MOST));
    return divide(t, add(broadcast(1.0f), exp2_within(z)));
}

/* Not minus infinity. */
ALWAYS_INLINE vec hold(vec x) {
    return select_max(broadcast(-FLT_MAX), x);
}

ALWAYS_INLINE vec silu(vec x) {
    return weigh(hold(x), multiply(hold(x), broadcast(HEADWISE_SILU_SLOPE)));
}

ALWAYS_INLINE vec gelu_quick(vec x) {
    return weigh(hold(x), multiply(hold(x), broadcast(HEADWISE_QUICK_SLOPE)));
}

ALWAYS_INLINE vec gelu_tanh(vec x) {
    vec t = hold(x);
    vec slope =
        multiply_add(multiply(t, t), broadcast(HEADWISE_TANH_CUBE), broadcast(HEADWISE_TANH_SLOPE));
    return weigh(t, multiply(slope, t));
}

ALWAYS_INLINE vec unchanged(vec x) {
    return x;
}

ALWAYS_INLINE vec tanh_of(vec x) {
    return tanh_vec(x);
}

typedef vec activation_fn(vec x);

ALWAYS_INLINE void run_row(float *y, const float *x, const float *factor, ptrdiff_t n,
                           activation_fn *f) {
    ptrdiff_t j = 0;
    for (; n - j >= LANES; j += LANES) {
        vec result = f(load(x + j));
        store(y + j, factor ? multiply(result, load(factor + j)) : result);
    }
    if (j < n) {
        vec result = f(load_first(x + j, n - j));
        store_first(y + j, factor ? multiply(result, load_first(factor + j, n - j)) : result,
                    n - j);
    }
}

ALWAYS_INLINE void run_rows(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                            const float *factor, ptrdiff_t factor_stride, ptrdiff_t m, ptrdiff_t n,
                            activation_fn *f) {
    for (ptrdiff_t i = 0; i < m; i++) {
        if (factor)
            run_row(y + i * y_stride, x + i * x_stride, factor + i * factor_stride, n, f);
        else
            run_row(y + i * y_stride, x + i * x_stride, NULL, n, f);
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
