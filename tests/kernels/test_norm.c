/* norm_rms, norm_layer: the contract's bits, and close to float64. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

struct norm {
    const struct headwise_kernels *kernels;
    bool layer, has_bias;
    size_t n;
    float eps;
    const float *weight, *bias;
};

static float fold(float lane[16]) {
    for (int width = 8; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

/* The contract, one operation after the other. */
static void norm_by_contract(const struct norm *c, float *y, const float *x) {
    float sum[16] = {0}, squares[16] = {0}, mean = 0;
    for (size_t j = 0; c->layer && j < c->n; j++)
        sum[j % 16] += x[j];
    if (c->layer)
        mean = fold(sum) / (float)c->n;
    for (size_t j = 0; j < c->n; j++)
        squares[j % 16] = product_fma(c->kernels, x[j] - mean, x[j] - mean, squares[j % 16]);
    float inverse = 1 / sqrtf(fold(squares) / (float)c->n + c->eps);
    for (size_t j = 0; j < c->n; j++) {
        float t = (x[j] - mean) * inverse;
        y[j] =
            c->has_bias ? product_fma(c->kernels, t, c->weight[j], c->bias[j]) : t * c->weight[j];
    }
}

/* In float64, with the bound: the sums have n/16 + 5 roundings a term; the mean's error shifts
 * every difference, and n of them together move the sum of squares by their square only (plus what
 * they carry with the differences, which add up to 0); quotient, eps and root are rounded once
 * each. */
static void expect_close(const struct norm *c, const float *y, const float *x) {
    double n = (double)c->n, mean = 0, magnitude = 0, squares = 0, k = n / 16 + 6;
    for (size_t j = 0; j < c->n; j++) {
        mean += (double)x[j] / n;
        magnitude += fabs((double)x[j]) / n;
    }
    mean = c->layer ? mean : 0;
    double shift = c->layer ? bound_gamma(k) * magnitude + BOUND_TINY : 0;
    for (size_t j = 0; j < c->n; j++) {
        double d = (double)x[j] - mean;
        squares += d * d;
    }
    double variance = squares / n + (double)c->eps;
    double relative =
        bound_gamma(k + 6) + (shift * shift + 4 * BOUND_U * shift * sqrt(squares / n)) / variance;
    for (size_t j = 0; j < c->n; j++) {
        double d = (double)x[j] - mean, add = c->has_bias ? (double)c->bias[j] : 0;
        double t = d / sqrt(variance), w = (double)c->weight[j];
        double t_error = fabs(t) * (relative + bound_gamma(4)) +
                         shift / sqrt(variance) * (1 + relative + bound_gamma(4));
        compare_expect((double)y[j], t * w + add,
                       fabs(w) * t_error + 2 * BOUND_U * (fabs(t * w) + fabs(add)) + BOUND_TINY,
                       "n %zu, y[%zu]", c->n, j);
    }
}

static void run_norm(const struct norm *c, float *y, size_t y_stride, const float *x,
                     size_t x_stride, size_t m) {
    headwise_norm_fn *run = c->layer ? c->kernels->norm_layer : c->kernels->norm_rms;
    run(y, (ptrdiff_t)y_stride, x, (ptrdiff_t)x_stride, c->weight, c->has_bias ? c->bias : NULL,
        (ptrdiff_t)m, (ptrdiff_t)c->n, c->eps);
}

static void expect_norm(const struct norm *c, struct test_rng *rng, size_t m, float scale,
                        float offset, size_t shift_bytes) {
    size_t x_stride = c->n + 2, y_stride = c->n + 1;
    float *x = guard_alloc(((m - 1) * x_stride + c->n) * sizeof(float), shift_bytes);
    float *y = guard_alloc(((m - 1) * y_stride + c->n) * sizeof(float), shift_bytes);
    float *want = guard_plain(c->n, sizeof(float));
    for (size_t at = 0; at < (m - 1) * x_stride + c->n; at++)
        x[at] = at % x_stride < c->n ? offset + scale * test_rng_float(rng) : NAN;
    run_norm(c, y, y_stride, x, x_stride, m);
    for (size_t i = 0; i < m; i++) {
        norm_by_contract(c, want, x + i * x_stride);
        compare_same_bits(y + i * y_stride, want, c->n, "n %zu, row %zu", c->n, i);
        expect_close(c, y + i * y_stride, x + i * x_stride);
        if (i + 1 < m)
            guard_expect_untouched(y + i * y_stride + c->n, sizeof(float), "between rows");
    }
    run_norm(c, x, x_stride, x, x_stride, m); /* in place */
    for (size_t i = 0; i < m; i++)
        compare_same_bits(x + i * x_stride, y + i * y_stride, c->n, "in place, row %zu", i);
    for (size_t i = 0; i + 1 < m; i++)
        assert_true(isnan(x[i * x_stride + c->n]) && isnan(x[i * x_stride + c->n + 1]));
}

static void every_length(enum headwise_isa isa) {
    const float epsilons[] = {1e-5f, 1e-6f, 1};
    struct test_rng rng = test_rng_make(72);
    for (size_t k = 0; k < 50 + SHAPE_DIMS; k++)
        for (int variant = 0; variant < 4; variant++) {
            size_t n = k < 50 ? k + 1 : (size_t)shape_dims[k - 50], shift_bytes = k % 2 * 4;
            float *weight = guard_alloc(n * sizeof(float), shift_bytes);
            float *bias = guard_alloc(n * sizeof(float), shift_bytes);
            test_rng_fill(&rng, weight, n, 2);
            test_rng_fill(&rng, bias, n, 1);
            struct norm c = {tier_kernels(isa), variant / 2, variant % 2, n,
                             epsilons[k % 3],   weight,      bias};
            expect_norm(&c, &rng, 1 + k % 3, k % 5 == 0 ? 1e-4f : 3, k % 4 == 0 ? 1 : 0,
                        shift_bytes);
            guard_reset();
        }
}

/* All equal: RMS gives the weights, up to eps; LayerNorm the bias alone. */
static void equal_elements(enum headwise_isa isa) {
    float x[37], weight[37], bias[37], y[37];
    struct norm c = {tier_kernels(isa), false, true, 37, 0, weight, bias};
    for (int j = 0; j < 37; j++) {
        x[j] = 4;
        weight[j] = (float)j;
        bias[j] = 0.5f;
    }
    run_norm(&c, y, 37, x, 37, 1);
    for (int j = 0; j < 37; j++)
        compare_expect((double)y[j], j + 0.5, 0, "rms, y[%d]", j);
    c.layer = true;
    c.eps = 1e-6f;
    run_norm(&c, y, 37, x, 37, 1);
    for (int j = 0; j < 37; j++)
        compare_expect((double)y[j], 0.5, 0, "layer, y[%d]", j);
}

static void nan_makes_its_row_nan(enum headwise_isa isa) {
    float x[20] = {1, 2, NAN}, weight[20], y[20];
    struct norm c = {tier_kernels(isa), false, false, 10, 1e-6f, weight, NULL};
    for (int j = 0; j < 20; j++)
        weight[j] = 1;
    for (int layer = 0; layer < 2; layer++) {
        c.layer = layer;
        x[15] = 3;
        run_norm(&c, y, 10, x, 10, 2);
        for (int j = 0; j < 20; j++)
            assert_true(j < 10 ? isnan(y[j]) : isfinite(y[j]));
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_length),
        TEST_CASE(equal_elements),
        TEST_CASE(nan_makes_its_row_nan),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
