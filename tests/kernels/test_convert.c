/* widen and narrow: f16 and bf16 against integer arithmetic; copies; integers. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "half.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

static const enum headwise_dtype types[] = {HEADWISE_F16, HEADWISE_BF16};

static void widen(const struct headwise_kernels *kernels, enum headwise_dtype dtype, float *dst,
                  const uint16_t *src, ptrdiff_t n) {
    kernels->widen[dtype](dst, src, n);
}

static void narrow(const struct headwise_kernels *kernels, enum headwise_dtype dtype, uint16_t *dst,
                   const float *src, ptrdiff_t n) {
    kernels->narrow[dtype](dst, src, n);
}

static bool is_nan16(enum headwise_dtype dtype, uint16_t bits) {
    return isnan(half_to_double(dtype, bits));
}

/* Widening keeps the value, the sign of zero included, and gives NaN for NaN. */
static void expect_widened(enum headwise_dtype dtype, float got, uint16_t bits) {
    float want = (float)half_to_double(dtype, bits); /* exact */
    compare_same_bits(&got, &want, 1, "%s 0x%04x", headwise_dtype_name(dtype), bits);
}

static void expect_narrowed(enum headwise_dtype dtype, uint16_t got, float x) {
    uint16_t want = half_from_double(dtype, (double)x);
    uint16_t quiet = dtype == HEADWISE_F16 ? 0x7e00 : 0x7fc0;
    if (isnan(x) ? is_nan16(dtype, got) && (got & quiet) == quiet : got == want)
        return;
    fail_msg("%s of %a is 0x%04x, expected 0x%04x", headwise_dtype_name(dtype), (double)x, got,
             want);
}

static void widen_is_exact_for_all_65536(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        uint16_t *src = guard_alloc(65536 * sizeof(uint16_t), 0);
        float *dst = guard_floats(65536);
        for (int i = 0; i < 65536; i++)
            src[i] = (uint16_t)i;
        widen(kernels, types[t], dst, src, 65536);
        for (int i = 0; i < 65536; i++)
            expect_widened(types[t], dst[i], src[i]);
    }
}

/* Every value of the type, the middle between it and the next one (a tie), and their neighbours. */
static void narrow_rounds_to_nearest_even(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        float *src = guard_floats((size_t)5 * 65536);
        uint16_t *dst = guard_alloc((size_t)5 * 65536 * sizeof(uint16_t), 0);
        for (int i = 0; i < 65536; i++) {
            float x = (float)half_to_double(types[t], (uint16_t)i);
            float next = (float)half_to_double(types[t], (uint16_t)(i + 1));
            float tie = isfinite(next) ? x + (next - x) / 2 : types[t] == HEADWISE_F16 ? 65520 : x;
            src[5 * i] = x;
            src[5 * i + 1] = nextafterf(x, INFINITY);
            src[5 * i + 2] = tie;
            src[5 * i + 3] = nextafterf(tie, INFINITY);
            src[5 * i + 4] = nextafterf(tie, -INFINITY);
        }
        narrow(kernels, types[t], dst, src, (ptrdiff_t)5 * 65536);
        for (int i = 0; i < 5 * 65536; i++)
            expect_narrowed(types[t], dst[i], src[i]);
    }
}

static void narrow_of_random_bits(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(71);
    const int n = 400000;
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        float *src = guard_floats((size_t)n);
        uint16_t *dst = guard_alloc((size_t)n * sizeof(uint16_t), 0);
        for (int i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)(test_rng_next(&rng) >> 32);
            if (i % 2 == 0) /* near the range of f16, its subnormals included */
                bits = (bits & 0x8fffffff) | 0x30000000;
            memcpy(src + i, &bits, sizeof(bits));
        }
        narrow(kernels, types[t], dst, src, n);
        for (int i = 0; i < n; i++)
            expect_narrowed(types[t], dst[i], src[i]);
    }
}

/* Any length, any alignment of the type, nothing outside. */
static void lengths_and_alignments(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(72);
    for (size_t n = 0; n <= 70; n++)
        for (size_t odd = 0; odd < 2; odd++)
            for (size_t t = 0; t < TEST_COUNT(types); t++) {
                float *wide = guard_alloc(n * sizeof(float), odd * sizeof(float));
                uint16_t *halves = guard_alloc(n * sizeof(uint16_t), odd * sizeof(uint16_t));
                float *back = guard_alloc(n * sizeof(float), odd * sizeof(float));
                test_rng_fill(&rng, wide, n, 4);
                narrow(kernels, types[t], halves, wide, (ptrdiff_t)n);
                widen(kernels, types[t], back, halves, (ptrdiff_t)n);
                for (size_t i = 0; i < n; i++) {
                    expect_narrowed(types[t], halves[i], wide[i]);
                    expect_widened(types[t], back[i], halves[i]);
                }
                guard_reset();
            }
}

/* Copies and integers, at every length up to a few vectors; nothing is written beyond them. */
static void copies_and_integers_keep_their_values(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(853);
    for (size_t n = 0; n <= 130; n++) {
        float *src = guard_floats(n), *copy = guard_floats(n), *back = guard_floats(n);
        float *wide = guard_floats(n);
        int8_t *integers = guard_alloc(n, 0);
        test_rng_fill(&rng, src, n, 1);
        for (size_t i = 0; i < n; i++)
            integers[i] = (int8_t)(test_rng_below(&rng, 256) - 128);
        kernels->narrow[HEADWISE_F32](copy, src, (ptrdiff_t)n);
        kernels->widen[HEADWISE_F32](back, copy, (ptrdiff_t)n);
        kernels->widen[HEADWISE_I8](wide, integers, (ptrdiff_t)n);
        compare_same_bits(copy, src, n, "narrow of %zu", n);
        compare_same_bits(back, src, n, "widen of %zu", n);
        for (size_t i = 0; i < n; i++)
            assert_true(wide[i] == (float)integers[i]);
        guard_check();
        guard_release();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(widen_is_exact_for_all_65536),
        TEST_CASE(narrow_rounds_to_nearest_even),
        TEST_CASE(narrow_of_random_bits),
        TEST_CASE(lengths_and_alignments),
        TEST_CASE(copies_and_integers_keep_their_values),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
