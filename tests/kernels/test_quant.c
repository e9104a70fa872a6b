/* quantize_i8 and what integers and scales are read as. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

enum { GROUP = HEADWISE_SCALE_GROUP };

struct quantised {
    int8_t *q;
    float *scales;
};

static struct quantised quantise(enum headwise_isa isa, const float *x, size_t n) {
    struct quantised out = {guard_alloc(n, 0), guard_floats((n + GROUP - 1) / GROUP)};
    tier_kernels(isa)->quantize_i8(out.q, out.scales, x, (ptrdiff_t)n);
    guard_check();
    return out;
}

/* The contract, with float64 where it may be: the quotient is rounded to f32 before the integer. */
static void expect_group(const float *x, size_t n, const int8_t *q, float scale) {
    double largest = 0;
    for (size_t j = 0; j < n; j++)
        if (fabs((double)x[j]) > largest)
            largest = fabs((double)x[j]);
    double want = fmin(fmax((double)(float)(largest / 127), 0x1p-126), 0x1.020406p121);
    assert_true((double)scale == want);
    for (size_t j = 0; j < n; j++) {
        double quotient = (double)(float)((double)x[j] / want);
        assert_true((double)q[j] == nearbyint(quotient));
        assert_true(q[j] >= -127 && q[j] <= 127);
        assert_true(isfinite((float)q[j] * scale));
        /* off by half a step, and by the rounding of the quotient */
        double error = fabs((double)x[j] - (double)q[j] * want);
        assert_true(error <= want * (0.5 + 128 * 0x1p-24));
    }
}

static void expect_row(enum headwise_isa isa, const float *x, size_t n) {
    struct quantised out = quantise(isa, x, n);
    for (size_t j = 0; j < n; j += GROUP)
        expect_group(x + j, n - j < GROUP ? n - j : GROUP, out.q + j, out.scales[j / GROUP]);
}

static void every_length_and_magnitude(enum headwise_isa isa) {
    const float magnitudes[] = {1, 127, 3e-39f, 0x1p-149f, 1e-30f, 3e38f, FLT_MAX};
    struct test_rng rng = test_rng_make(420);
    size_t n_rows = 0;
    for (size_t s = 0; s < SHAPE_DIMS; s++)
        for (size_t m = 0; m < TEST_COUNT(magnitudes); m++, n_rows++) {
            size_t n = (size_t)shape_dims[s];
            float *x = guard_floats(n);
            test_rng_fill(&rng, x, n, magnitudes[m]);
            if (m % 2 == 0)
                x[n - 1] = magnitudes[m];
            expect_row(isa, x, n);
            guard_reset();
        }
    assert_true(n_rows > 100);
}

/* Ties go to the even integer: with 127 as the largest magnitude the scale is 1. */
static void ties_go_to_even(enum headwise_isa isa) {
    const float x[] = {127, .5f, 1.5f, 2.5f, -.5f, -1.5f, -2.5f, 126.5f, -126.5f, 0, -0.0f};
    const int8_t want[] = {127, 0, 2, 2, 0, -2, -2, 126, -126, 0, 0};
    struct quantised out = quantise(isa, x, TEST_COUNT(x));
    assert_true(out.scales[0] == 1);
    assert_memory_equal(out.q, want, sizeof(want));
}

/* One large component swallows 31 small ones: what is computed on is 127, not 139.4. */
static void small_beside_large_is_zero(enum headwise_isa isa) {
    float x[GROUP] = {127};
    for (int j = 1; j < GROUP; j++)
        x[j] = .4f;
    struct quantised out = quantise(isa, x, GROUP);
    assert_true(out.scales[0] == 1);
    assert_int_equal(out.q[0], 127);
    for (int j = 1; j < GROUP; j++)
        assert_int_equal(out.q[j], 0);
}

static void a_zero_group_is_zero(enum headwise_isa isa) {
    float x[GROUP] = {0};
    expect_row(isa, x, GROUP);
}

/* Only the group of the NaN or infinity becomes NaN. */
static void what_is_not_finite_spoils_its_group(enum headwise_isa isa) {
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < TEST_COUNT(bad); b++)
        for (size_t at = 0; at < 70; at++) {
            float *x = guard_floats(70);
            for (size_t j = 0; j < 70; j++)
                x[j] = 1;
            x[at] = bad[b];
            struct quantised out = quantise(isa, x, 70);
            for (size_t g = 0; g < 3; g++)
                assert_int_equal(isnan(out.scales[g]), at / GROUP == g);
            for (size_t j = 0; j < 70; j++)
                assert_int_equal(out.q[j], at / GROUP == j / GROUP ? 0 : 127);
            guard_reset();
        }
}

static void fill_integers(struct test_rng *rng, int8_t *q, size_t n) {
    for (size_t i = 0; i < n; i++)
        q[i] = (int8_t)(test_rng_below(rng, 255) - 127);
}

static void keys_are_integer_times_scale(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const size_t dims[] = {0, 1, 31, 32, 33, 80, 128};
    struct test_rng rng = test_rng_make(421);
    for (size_t d = 0; d < TEST_COUNT(dims); d++)
        for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min) {
            size_t k = dims[d], width = (size_t)n;
            int8_t *q = guard_alloc(k * width, 0);
            float *scales = guard_floats((k + GROUP - 1) / GROUP * width);
            float *got = guard_floats(k * width), *want = guard_plain(k * width + 1, sizeof(float));
            fill_integers(&rng, q, k * width);
            test_rng_fill(&rng, scales, (k + GROUP - 1) / GROUP * width, 1);
            for (size_t i = 0; i < k * width; i++)
                want[i] = (float)q[i] * scales[i / width / GROUP * width + i % width];
            kernels->widen_keys_i8(got, q, scales, n, (ptrdiff_t)k);
            compare_same_bits(got, want, k * width, "%d columns, %zu rows", n, k);
            guard_reset();
        }
}

static void values_are_integer_times_scale(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const size_t rows[] = {0, 1, 7, 255, 256};
    struct test_rng rng = test_rng_make(422);
    for (size_t r = 0; r < TEST_COUNT(rows); r++)
        for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min) {
            size_t k = rows[r], width = (size_t)n;
            int8_t *q = guard_alloc(k * width, 0);
            float *scales = guard_floats(k);
            float *got = guard_floats(k * width), *want = guard_plain(k * width + 1, sizeof(float));
            fill_integers(&rng, q, k * width);
            test_rng_fill(&rng, scales, k, 1);
            for (size_t i = 0; i < k * width; i++)
                want[i] = (float)q[i] * scales[i / width];
            kernels->widen_values_i8(got, q, scales, n, (ptrdiff_t)k);
            compare_same_bits(got, want, k * width, "%d columns, %zu rows", n, k);
            guard_reset();
        }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_length_and_magnitude),          TEST_CASE(ties_go_to_even),
        TEST_CASE(small_beside_large_is_zero),          TEST_CASE(a_zero_group_is_zero),
        TEST_CASE(what_is_not_finite_spoils_its_group), TEST_CASE(keys_are_integer_times_scale),
        TEST_CASE(values_are_integer_times_scale),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
