/* Rows rounded to bytes: the contract, and how far off a component is. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

struct rounded {
    struct headwise_rounding how;
    uint8_t *bytes;
    int offset;
};

static struct rounded round_row(enum headwise_isa isa, const float *x, size_t n) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    size_t padded = (n + HEADWISE_DOT_STEP - 1) / HEADWISE_DOT_STEP * HEADWISE_DOT_STEP;
    struct rounded row = {.bytes = guard_alloc(padded, 0),
                          .offset = isa == HEADWISE_ISA_NEON ? 128 : 0};
    kernels->measure_rows(&row.how, x, 0, 1, (ptrdiff_t)n);
    kernels->round_rows(row.bytes, 0, x, 0, &row.how, 1, (ptrdiff_t)n);
    guard_check();
    return row;
}

static int component(const struct rounded *row, size_t j) {
    return row->offset ? (int8_t)row->bytes[j] + row->offset : row->bytes[j];
}

static void expect_row(enum headwise_isa isa, const float *x, size_t n) {
    struct rounded row = round_row(isa, x, n);
    double low = 0, high = 0;
    for (size_t j = 0; j < n; j++) {
        low = fmin(low, (double)x[j]);
        high = fmax(high, (double)x[j]);
    }
    float scale = (float)high / 255.0f - (float)low / 255.0f;
    assert_true(row.how.scale == fmaxf(scale, 0x1p-126f));
    assert_true(row.how.inverse == 1.0f / row.how.scale);
    assert_true(row.how.zero >= 0 && row.how.zero <= 255);
    assert_true(row.how.zero == nearbyintf(0.0f - (float)low * row.how.inverse));
    assert_int_equal(row.how.zero_byte, (int)row.how.zero - row.offset);
    for (size_t j = 0; j < n; j++) {
        double got = (component(&row, j) - (double)row.how.zero) * (double)row.how.scale;
        if (!(fabs(got - (double)x[j]) <= (double)row.how.scale * (0.5 + 0x1p-12)))
            fail_msg("component %zu of %zu: %g became %g, scale %g", j, n, (double)x[j], got,
                     (double)row.how.scale);
        if (x[j] == 0)
            assert_true(got == 0);
    }
}

static void every_length_and_range(enum headwise_isa isa) {
    const float magnitudes[] = {1, 127, 3e-39f, 0x1p-149f, 1e-30f, 3e38f, FLT_MAX};
    struct test_rng rng = test_rng_make(1420);
    size_t n_rows = 0;
    for (size_t s = 0; s < SHAPE_DIMS; s++)
        for (size_t m = 0; m < TEST_COUNT(magnitudes); m++)
            for (int signs = -1; signs <= 1; signs++, n_rows++) {
                size_t n = (size_t)shape_dims[s];
                float *x = guard_floats(n);
                test_rng_fill(&rng, x, n, magnitudes[m]);
                for (size_t j = 0; j < n; j++)
                    x[j] = signs == 0 ? x[j] : (float)signs * fabsf(x[j]);
                if (m % 2 == 0)
                    x[n - 1] = magnitudes[m];
                if (n > 2)
                    x[n / 2] = 0;
                expect_row(isa, x, n);
                guard_reset();
            }
    assert_true(n_rows > 300);
}

/* Where both ends lie half a step off, one is held within a byte. */
static void ends_are_held(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(1421);
    for (int i = 0; i < 2000; i++) {
        float zero = (float)test_rng_below(&rng, 255) + 0.5f, step = ldexpf(1, i % 40 - 20);
        step *= 1 + (float)test_rng_below(&rng, 1 << 20) * 0x1p-23f;
        float *x = guard_floats(2);
        x[0] = -zero * step;
        x[1] = (255 - zero) * step;
        expect_row(isa, x, 2);
        guard_reset();
    }
}

static void zeros_are_zeros(enum headwise_isa isa) {
    float x[40] = {0, -0.0f};
    expect_row(isa, x, 40);
}

/* A row that is not finite says so in its scale, and its bytes are defined. */
static void what_is_not_finite_spoils_its_row(enum headwise_isa isa) {
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < TEST_COUNT(bad); b++)
        for (size_t at = 0; at < 70; at++) {
            float *x = guard_floats(70);
            for (size_t j = 0; j < 70; j++)
                x[j] = j == at ? bad[b] : 1;
            struct rounded row = round_row(isa, x, 70);
            assert_true(isnan(row.how.scale));
            assert_true(row.how.inverse == 0 && row.how.zero == 0);
            for (size_t j = 0; j < 70; j++)
                assert_int_equal(component(&row, j), 0);
            guard_reset();
        }
}

/* Rows keep to themselves, and strides are followed. */
static void rows_are_apart(enum headwise_isa isa) {
    enum { ROWS = 5, N = 33, X_STRIDE = 40, STRIDE = 70 };
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(1422);
    float *x = guard_floats((ROWS - 1) * X_STRIDE + N);
    uint8_t *bytes = guard_alloc((ROWS - 1) * STRIDE + HEADWISE_DOT_STEP, 0);
    struct headwise_rounding how[ROWS];
    test_rng_fill(&rng, x, (ROWS - 1) * X_STRIDE + N, 1);
    x[2 * X_STRIDE + 7] = NAN;
    kernels->measure_rows(how, x, X_STRIDE, ROWS, N);
    kernels->round_rows(bytes, STRIDE, x, X_STRIDE, how, ROWS, N);
    for (int i = 0; i < ROWS; i++) {
        struct rounded one = round_row(isa, x + i * X_STRIDE, N);
        assert_int_equal(isnan(how[i].scale), i == 2);
        assert_memory_equal(bytes + i * STRIDE, one.bytes, N);
        assert_int_equal(how[i].zero_byte, one.how.zero_byte);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_length_and_range), TEST_CASE(ends_are_held),
        TEST_CASE(zeros_are_zeros),        TEST_CASE(what_is_not_finite_spoils_its_row),
        TEST_CASE(rows_are_apart),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
