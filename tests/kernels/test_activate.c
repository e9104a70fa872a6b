/* activate: every activation, close to float64 and, but for tanh, the contract's bits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "activation.h"
#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "rng.h"
#include "runner.h"
#include "tier.h"

static float polynomial(const struct headwise_kernels *kernels, const float *terms, int n,
                        float x) {
    float sum = terms[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = product_fma(kernels, sum, x, terms[i]);
    return sum;
}

static float exp2_by_contract(const struct headwise_kernels *kernels, float z) {
    float n = nearbyintf(z);
    float power = polynomial(kernels, headwise_exp2_terms, HEADWISE_EXP2_TERMS, z - n);
    return n == -127 ? 0 : n == 128 ? INFINITY : power * ldexpf(1, (int)n);
}

static float hold(float z, float least, float most) {
    return !(z > least) ? least : z > most ? most : z;
}

static float weigh(const struct headwise_kernels *kernels, float t, float z) {
    return t / (1 + exp2_by_contract(kernels, hold(z, -127, 128)));
}

/* The contract, one operation after the other. */
static float by_contract(const struct headwise_kernels *kernels,
                         enum headwise_activation activation, float x) {
    float t = -FLT_MAX > x ? -FLT_MAX : x, positive = 0 > x ? 0 : x;
    float a = fabsf(x) < 32 ? fabsf(x) : 32;
    switch (activation) {
    case HEADWISE_ACTIVATION_RELU:
        return positive;
    case HEADWISE_ACTIVATION_GELU: {
        float tail = polynomial(kernels, headwise_tail_terms, HEADWISE_TAIL_TERMS, a);
        return product_fma(kernels, -a, exp2_by_contract(kernels, hold(tail, -127, 0)), positive);
    }
    case HEADWISE_ACTIVATION_SILU:
        return weigh(kernels, t, t * HEADWISE_SILU_SLOPE);
    case HEADWISE_ACTIVATION_GELU_QUICK:
        return weigh(kernels, t, t * HEADWISE_QUICK_SLOPE);
    case HEADWISE_ACTIVATION_GELU_TANH: {
        float slope = product_fma(kernels, t * t, HEADWISE_TANH_CUBE, HEADWISE_TANH_SLOPE);
        return weigh(kernels, t, slope * t);
    }
    default:
        return x;
    }
}

static void expect_element(const struct headwise_kernels *kernels,
                           enum headwise_activation activation, float x, float got) {
    const char *name = activation_name(activation);
    compare_expect((double)got, activation_exact(activation, (double)x),
                   activation_bound(activation, x), "%s of %a", name, (double)x);
    float want = by_contract(kernels, activation, x);
    if (activation != HEADWISE_ACTIVATION_TANH)
        compare_same_bits(&got, &want, 1, "%s of %a", name, (double)x);
}

/* Lengths around the vectors', rows apart, with and without a factor, in place of x or of it. */
static void rows_of_every_length(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(81);
    for (int n = 0; n < 70; n++)
        for (int a = 0; a < HEADWISE_ACTIVATIONS; a++) {
            enum { ROWS = 3 };
            ptrdiff_t stride = n + 2;
            size_t size = (size_t)((ROWS - 1) * stride + n), shift = n % 2 * 4;
            float *x = guard_alloc(size * sizeof(float), shift);
            float *y = guard_alloc(size * sizeof(float), shift);
            float *factor = guard_alloc(size * sizeof(float), shift);
            test_rng_fill(&rng, x, size, 5);
            test_rng_fill(&rng, factor, size, 2);
            kernels->activate[a](y, stride, x, stride, NULL, 0, ROWS, n);
            for (ptrdiff_t i = 0; i < ROWS; i++) {
                for (ptrdiff_t j = 0; j < n; j++)
                    expect_element(kernels, (enum headwise_activation)a, x[i * stride + j],
                                   y[i * stride + j]);
                if (i + 1 < ROWS)
                    guard_expect_untouched(y + i * stride + n, 8, "between rows");
            }
            float *product = guard_plain(size + 1, sizeof(float));
            for (size_t at = 0; at < size; at++)
                product[at] = y[at] * factor[at];
            kernels->activate[a](factor, stride, x, stride, factor, stride, ROWS, n);
            kernels->activate[a](x, stride, x, stride, NULL, 0, ROWS, n);
            for (ptrdiff_t i = 0; i < ROWS; i++) {
                compare_same_bits(factor + i * stride, product + i * stride, (size_t)n,
                                  "%s times a factor",
                                  activation_name((enum headwise_activation)a));
                compare_same_bits(x + i * stride, y + i * stride, (size_t)n, "in place");
            }
            guard_reset();
        }
}

/* Every magnitude: all exponents, and what lies close where functions bend. */
static void every_magnitude(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(82);
    enum { N = 4096 };
    float *x = guard_floats(N), *y = guard_floats(N);
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < N; i++) {
            int exponent = round % 2 ? (int)test_rng_below(&rng, 10) - 5
                                     : (int)test_rng_below(&rng, 277) - 149;
            x[i] = ldexpf(test_rng_float(&rng), exponent);
        }
        for (int a = 0; a < HEADWISE_ACTIVATIONS; a++) {
            kernels->activate[a](y, 0, x, 0, NULL, 0, 1, N);
            for (int i = 0; i < N; i++)
                expect_element(kernels, (enum headwise_activation)a, x[i], y[i]);
        }
    }
}

static void edges(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const float x[] = {0.0f,    -0.0f,   INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN, 0x1p-149f,
                       -87.3f,  -87.34f, -88.0f,   -88.38f,   -88.8f,  -104.0f,  -51.0f,  -52.2f,
                       -10.53f, -10.6f,  -6.0f,    -13.2f,    32.0f,   -32.0f,   87.9f,   104.0f};
    enum { N = sizeof x / sizeof x[0] };
    float y[N];
    for (int a = 0; a < HEADWISE_ACTIVATIONS; a++) {
        kernels->activate[a](y, 0, x, 0, NULL, 0, 1, N);
        for (int i = 0; i < N; i++)
            expect_element(kernels, (enum headwise_activation)a, x[i], y[i]);
    }
}

static void nan_stays(enum headwise_isa isa) {
    enum { N = 20 };
    for (int at = 0; at < N; at++) {
        float x[N] = {0}, y[N];
        x[at] = NAN;
        for (int a = 0; a < HEADWISE_ACTIVATIONS; a++) {
            tier_kernels(isa)->activate[a](y, 0, x, 0, NULL, 0, 1, N);
            for (int i = 0; i < N; i++)
                assert_int_equal(isnan(y[i]) != 0, i == at);
        }
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(rows_of_every_length),
        TEST_CASE(every_magnitude),
        TEST_CASE(edges),
        TEST_CASE(nan_stays),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
