/* softmax: numerators in place, the maximum and the sum in 16 lanes. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "exponent.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

static ptrdiff_t padded(ptrdiff_t n) {
    return (n + HEADWISE_SUM_LANES - 1) / HEADWISE_SUM_LANES * HEADWISE_SUM_LANES;
}

/* The contract's order of summation, from the numerators that the kernel wrote. */
static float lane_sum(const float *p, ptrdiff_t n) {
    float lane[HEADWISE_SUM_LANES] = {0};
    for (ptrdiff_t j = 0; j < padded(n); j++)
        lane[j % HEADWISE_SUM_LANES] += j < n ? p[j] : 0;
    for (int half = HEADWISE_SUM_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void expect_row(const float *scores, const float *p, ptrdiff_t n, float max, float sum) {
    float want_max = -INFINITY;
    for (ptrdiff_t j = 0; j < n; j++)
        want_max = scores[j] > want_max ? scores[j] : want_max;
    assert_true(max == want_max);
    for (ptrdiff_t j = 0; j < n; j++)
        exponent_expect(p[j], scores[j], want_max, 1, "n %td, numerator %td", n, j);
    for (ptrdiff_t j = n; j < padded(n); j++)
        compare_expect((double)p[j], 0, 0, "n %td, padding %td", n, j);
    float want_sum = lane_sum(p, n);
    compare_same_bits(&sum, &want_sum, 1, "sum of n %td", n);
}

/* m rows of n scores each, in guarded memory; runs the kernel and checks every row. */
static void run_rows(const struct headwise_kernels *kernels, struct test_rng *rng, ptrdiff_t m,
                     ptrdiff_t n, ptrdiff_t stride, float spread, size_t shift_bytes) {
    size_t size = m > 0 ? (size_t)((m - 1) * stride + padded(n)) : 0;
    float *s = guard_alloc(size * sizeof(float), shift_bytes);
    float *scores = guard_plain((size_t)(m * n), sizeof(float));
    float *max = guard_floats((size_t)m);
    float *sum = guard_floats((size_t)m);
    for (ptrdiff_t i = 0; i < m; i++) {
        test_rng_fill(rng, scores + i * n, (size_t)n, spread);
        for (ptrdiff_t j = 0; j < n; j++) /* one in eight hidden */
            if (test_rng_below(rng, 8) == 0)
                scores[i * n + j] = -INFINITY;
        memcpy(s + i * stride, scores + i * n, (size_t)n * sizeof(float));
        for (ptrdiff_t j = n; j < padded(n); j++)
            s[i * stride + j] = NAN; /* not used, and overwritten by 0 */
    }
    kernels->softmax(s, stride, m, n, max, sum);
    for (ptrdiff_t i = 0; i < m; i++) {
        expect_row(scores + i * n, s + i * stride, n, max[i], sum[i]);
        if (i + 1 < m)
            guard_expect_untouched(s + i * stride + padded(n),
                                   (size_t)(stride - padded(n)) * sizeof(float), "between rows");
    }
    guard_reset();
}

static void matches_float64_on_the_grid(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const float spreads[] = {0, 1, 20, 200, 1e30f};
    struct test_rng rng = test_rng_make(41);
    for (size_t ik = 0; ik < SHAPE_KEYS; ik++)
        for (size_t im = 0; im < SHAPE_QUERIES; im++)
            for (size_t is = 0; is < TEST_COUNT(spreads); is++)
                run_rows(kernels, &rng, shape_queries[im], shape_keys[ik],
                         padded(shape_keys[ik]) + 16 * (ptrdiff_t)(is % 2), spreads[is],
                         is % 2 * sizeof(float));
}

/* Equal scores give equal numerators in the body and in the tail, at any length and position. */
static void a_numerator_does_not_depend_on_its_lane(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const float values[] = {-0.3f, -1.7182817f, -17.25f, -80.125f, -103.0f};
    for (ptrdiff_t n = 2; n <= 2 * HEADWISE_SUM_LANES + 7; n++)
        for (size_t v = 0; v < TEST_COUNT(values); v++) {
            float *s = guard_floats((size_t)padded(n));
            float max, sum;
            for (ptrdiff_t j = 0; j < n; j++)
                s[j] = values[v];
            s[n / 2] = 0.5f;
            kernels->softmax(s, padded(n), 1, n, &max, &sum);
            for (ptrdiff_t j = 0; j < n; j++)
                if (j != n / 2)
                    compare_same_bits(s + j, s, 1, "value %g, n %td, lane %td", (double)values[v],
                                      n, j);
            guard_reset();
        }
}

static void rows_do_not_matter(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const ptrdiff_t m = 13, n = 70, stride = 96;
    struct test_rng rng = test_rng_make(42);
    float *s = guard_floats((size_t)(m * stride));
    float *alone = guard_floats((size_t)(m * stride));
    float max[13], sum[13], max_alone, sum_alone;
    test_rng_fill(&rng, s, (size_t)(m * stride), 9);
    memcpy(alone, s, (size_t)(m * stride) * sizeof(float));
    kernels->softmax(s, stride, m, n, max, sum);
    for (ptrdiff_t i = 0; i < m; i++) {
        kernels->softmax(alone + i * stride, stride, 1, n, &max_alone, &sum_alone);
        compare_same_bits(alone + i * stride, s + i * stride, 80, "row %td", i);
        compare_same_bits(&max_alone, max + i, 1, "maximum of row %td", i);
        compare_same_bits(&sum_alone, sum + i, 1, "sum of row %td", i);
    }
}

static void a_hidden_row_sums_to_zero(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (size_t ik = 0; ik < SHAPE_KEYS; ik++) {
        ptrdiff_t n = shape_keys[ik];
        float *s = guard_floats((size_t)padded(n));
        float max = 1, sum = 1;
        for (ptrdiff_t j = 0; j < n; j++)
            s[j] = -INFINITY;
        kernels->softmax(s, padded(n), 1, n, &max, &sum);
        assert_true(max == -INFINITY);
        assert_true(sum == 0);
        for (ptrdiff_t j = 0; j < padded(n); j++)
            assert_true(s[j] == 0);
        guard_reset();
    }
}

/* NaN at any place: its numerator and the sum are NaN, the maximum and the others are as without.
 */
static void nan_reaches_the_sum_and_nothing_else(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const ptrdiff_t n = 39;
    for (ptrdiff_t at = 0; at < n; at++) {
        float *s = guard_floats((size_t)padded(n));
        float max, sum;
        for (ptrdiff_t j = 0; j < n; j++)
            s[j] = j == at ? NAN : (float)(j % 7);
        kernels->softmax(s, padded(n), 1, n, &max, &sum);
        assert_true(max == 6);
        assert_true(isnan(sum));
        for (ptrdiff_t j = 0; j < n; j++)
            exponent_expect(s[j], j == at ? NAN : (float)(j % 7), 6, 1, "NaN at %td, %td", at, j);
        guard_reset();
    }
}

/* inf - inf is NaN, as IEEE 754 has it: an overflowed visible score does not pass for a number. */
static void infinity_becomes_nan(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    float *s = guard_floats(16);
    float max, sum;
    for (int j = 0; j < 16; j++)
        s[j] = j == 3 ? INFINITY : (float)j;
    kernels->softmax(s, 16, 1, 9, &max, &sum);
    assert_true(max == INFINITY);
    assert_true(isnan(s[3]) && isnan(sum));
    assert_true(s[2] == 0 && s[8] == 0);
}

static void empty_sizes(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    float max = 7, sum = 7;
    kernels->softmax(guard_floats(0), 16, 0, 5, guard_floats(0), guard_floats(0));
    kernels->softmax(guard_floats(0), 0, 1, 0, &max, &sum);
    assert_true(max == -INFINITY);
    assert_true(sum == 0);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(matches_float64_on_the_grid),
        TEST_CASE(a_numerator_does_not_depend_on_its_lane),
        TEST_CASE(rows_do_not_matter),
        TEST_CASE(a_hidden_row_sums_to_zero),
        TEST_CASE(nan_reaches_the_sum_and_nothing_else),
        TEST_CASE(infinity_becomes_nan),
        TEST_CASE(empty_sizes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
