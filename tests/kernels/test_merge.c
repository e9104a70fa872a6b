/* merge, finish, factors: how the softmax of key blocks becomes the softmax of the row. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "exponent.h"
#include "guard.h"
#include "product.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

/* A maximum as rows have them: mostly moderate, some far away, some without a visible key. */
static float random_max(struct test_rng *rng) {
    switch (test_rng_below(rng, 6)) {
    case 0:
        return -INFINITY;
    case 1:
        return test_rng_float(rng) * 200;
    default:
        return test_rng_float(rng) * 8;
    }
}

static float random_sum(struct test_rng *rng, float max) {
    return max == -INFINITY ? 0 : 1 + 255 * fabsf(test_rng_float(rng));
}

static void expect_merge(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                         size_t shift_bytes) {
    size_t bytes = n * sizeof(float);
    float *alpha = guard_alloc(bytes, shift_bytes), *beta = guard_alloc(bytes, shift_bytes);
    float *max = guard_alloc(bytes, shift_bytes), *sum = guard_alloc(bytes, shift_bytes);
    float *block_max = guard_alloc(bytes, shift_bytes),
          *block_sum = guard_alloc(bytes, shift_bytes);
    float *old_max = guard_plain(n, sizeof(float)), *old_sum = guard_plain(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        old_max[i] = max[i] = random_max(rng);
        old_sum[i] = sum[i] = random_sum(rng, max[i]);
        block_max[i] = random_max(rng);
        block_sum[i] = random_sum(rng, block_max[i]);
    }
    kernels->merge(alpha, beta, max, sum, block_max, block_sum, (ptrdiff_t)n);
    for (size_t i = 0; i < n; i++) {
        float new_max = block_max[i] > old_max[i] ? block_max[i] : old_max[i];
        assert_true(max[i] == new_max);
        exponent_expect(alpha[i], old_max[i], new_max, 1, "n %zu, alpha %zu", n, i);
        exponent_expect(beta[i], block_max[i], new_max, 1, "n %zu, beta %zu", n, i);
        float want = product_fma(kernels, old_sum[i], alpha[i], block_sum[i] * beta[i]);
        compare_same_bits(sum + i, &want, 1, "n %zu, sum %zu", n, i);
    }
    guard_reset();
}

static void merge_matches_float64(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(51);
    for (size_t n = 0; n <= 40; n++)
        for (size_t repeat = 0; repeat < 8; repeat++)
            expect_merge(kernels, &rng, n, repeat % 2 * sizeof(float));
}

/* Exact ones and zeros: a block that changes nothing must not change the last bit. */
static void merge_keeps_what_a_hidden_block_leaves(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    float max[3] = {2.5f, -INFINITY, -INFINITY}, sum[3] = {3.3f, 0, 0};
    const float block_max[3] = {-INFINITY, 1.5f, -INFINITY}, block_sum[3] = {0, 7.7f, 0};
    float alpha[3], beta[3];
    kernels->merge(alpha, beta, max, sum, block_max, block_sum, 3);
    assert_true(alpha[0] == 1 && beta[0] == 0 && max[0] == 2.5f && sum[0] == 3.3f);
    assert_true(alpha[1] == 0 && beta[1] == 1 && max[1] == 1.5f && sum[1] == 7.7f);
    assert_true(alpha[2] == 0 && beta[2] == 0 && max[2] == -INFINITY && sum[2] == 0);
}

static void merge_passes_nan_on(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    float max[2] = {1, 1}, sum[2] = {NAN, 4};
    const float block_max[2] = {0, 0}, block_sum[2] = {2, NAN};
    float alpha[2], beta[2];
    kernels->merge(alpha, beta, max, sum, block_max, block_sum, 2);
    assert_true(isnan(sum[0]) && isnan(sum[1]));
    assert_true(max[0] == 1 && max[1] == 1);
}

static void expect_finish(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                          size_t shift_bytes) {
    size_t bytes = n * sizeof(float);
    float *inverse = guard_alloc(bytes, shift_bytes), *lse = guard_alloc(bytes, shift_bytes);
    float *max = guard_alloc(bytes, shift_bytes), *sum = guard_alloc(bytes, shift_bytes);
    for (size_t i = 0; i < n; i++) {
        max[i] = random_max(rng);
        sum[i] = i == 3 ? NAN : i == 5 ? 1 : random_sum(rng, max[i]);
    }
    kernels->finish(inverse, lse, max, sum, (ptrdiff_t)n);
    for (size_t i = 0; i < n; i++) {
        float want_inverse = sum[i] == 0 ? 0 : 1 / sum[i];
        compare_same_bits(inverse + i, &want_inverse, 1, "n %zu, inverse %zu", n, i);
        double log_sum = log((double)sum[i]);
        double want = sum[i] == 0 ? -(double)INFINITY : (double)max[i] + log_sum;
        /* log is an ulp off, the sum is rounded once. */
        double bound = BOUND_U10 * fabs(log_sum) * (1 + BOUND_U) + BOUND_U * fabs(want);
        compare_expect((double)lse[i], want, bound, "n %zu, lse %zu", n, i);
    }
    guard_reset();
}

static void finish_matches_float64(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(52);
    for (size_t n = 0; n <= 40; n++)
        for (size_t repeat = 0; repeat < 8; repeat++)
            expect_finish(kernels, &rng, n, repeat % 2 * sizeof(float));
}

static void factors_match_float64(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(53);
    for (size_t n = 0; n <= 40; n++)
        for (size_t repeat = 0; repeat < 8; repeat++) {
            float *factor = guard_alloc(n * sizeof(float), repeat % 2 * sizeof(float));
            float *block_max = guard_alloc(n * sizeof(float), repeat % 2 * sizeof(float));
            float max = -INFINITY, inverse = 1 / (1 + 99 * fabsf(test_rng_float(&rng)));
            for (size_t i = 0; i < n; i++) {
                block_max[i] = repeat == 7 ? -INFINITY : random_max(&rng);
                max = block_max[i] > max ? block_max[i] : max;
            }
            kernels->factors(factor, block_max, max, inverse, (ptrdiff_t)n);
            for (size_t i = 0; i < n; i++)
                exponent_expect(factor[i], block_max[i], max, inverse, "n %zu, factor %zu", n, i);
            guard_reset();
        }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(merge_matches_float64), TEST_CASE(merge_keeps_what_a_hidden_block_leaves),
        TEST_CASE(merge_passes_nan_on),   TEST_CASE(finish_matches_float64),
        TEST_CASE(factors_match_float64),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
