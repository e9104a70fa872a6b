/* normalize, softcap, alibi, add_mask, hide, add: one pass over a row. */
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

/* Every row length of the grid, with bases aligned and shifted, then each length up to 40. */
static void for_lengths(const struct headwise_kernels *kernels, uint64_t stream,
                        void (*visit)(const struct headwise_kernels *kernels, struct test_rng *rng,
                                      size_t n, size_t shift_bytes)) {
    struct test_rng rng = test_rng_make(stream);
    for (size_t i = 0; i < SHAPE_DIMS + SHAPE_KEYS + 41; i++) {
        size_t n = i < SHAPE_DIMS                ? (size_t)shape_dims[i]
                   : i < SHAPE_DIMS + SHAPE_KEYS ? (size_t)shape_keys[i - SHAPE_DIMS]
                                                 : i - SHAPE_DIMS - SHAPE_KEYS;
        for (size_t shift_bytes = 0; shift_bytes <= sizeof(float); shift_bytes += sizeof(float)) {
            visit(kernels, &rng, n, shift_bytes);
            guard_reset();
        }
    }
}

static float *random_row(struct test_rng *rng, size_t n, size_t shift_bytes, float scale) {
    float *x = guard_alloc(n * sizeof(float), shift_bytes);
    test_rng_fill(rng, x, n, scale);
    for (size_t j = 0; j < n; j++) { /* one element in four is special */
        const float special[] = {NAN, INFINITY, -INFINITY, -0.0f};
        int64_t pick = test_rng_below(rng, 16);
        if (pick < 4)
            x[j] = special[pick];
    }
    return x;
}

static float *copy_row(const float *x, size_t n) {
    float *copy = guard_plain(n, sizeof(float));
    memcpy(copy, x, n * sizeof(float));
    return copy;
}

static void expect_normalize(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                             size_t shift_bytes) {
    const float gates[] = {1, 0.5f, -3, 0};
    float *o = random_row(rng, n, shift_bytes, 5);
    float inverse = 1 / (1 + fabsf(test_rng_float(rng)) * 100);
    for (size_t g = 0; g < TEST_COUNT(gates); g++) {
        float *y = guard_alloc(n * sizeof(float), shift_bytes);
        float *in_place = guard_alloc(n * sizeof(float), shift_bytes);
        memcpy(in_place, o, n * sizeof(float));
        kernels->normalize(y, o, inverse, gates[g], (ptrdiff_t)n);
        kernels->normalize(in_place, in_place, inverse, gates[g], (ptrdiff_t)n);
        for (size_t j = 0; j < n; j++) {
            float want = product_fma(kernels, o[j] * inverse, gates[g], 0);
            uint32_t bits, want_bits = 0x7fc00000;
            if (!isnan(want))
                memcpy(&want_bits, &want, sizeof(want));
            memcpy(&bits, y + j, sizeof(bits)); /* NaN too has one fixed pattern */
            if (bits != want_bits)
                fail_msg("n %zu, y[%zu] is 0x%08x, expected 0x%08x", n, j, bits, want_bits);
        }
        assert_memory_equal(in_place, y, n * sizeof(float));
    }
}

static void normalize_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 61, expect_normalize);
}

static void expect_softcap(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                           size_t shift_bytes) {
    const float caps[] = {0.5f, 2, 30, 50};
    for (size_t c = 0; c < TEST_COUNT(caps); c++) {
        float *s = random_row(rng, n, shift_bytes, c % 2 == 0 ? 3 : 400);
        const float *before = copy_row(s, n);
        float inverse = 1 / caps[c];
        kernels->softcap(s, caps[c], inverse, (ptrdiff_t)n);
        for (size_t j = 0; j < n; j++) {
            double want = (double)caps[c] * tanh((double)before[j] * (double)inverse);
            /* The argument is rounded once, and |x tanh'(x)| <= |tanh(x)|, so that error does not
             * grow; tanh adds 1 ulp, the product one rounding. */
            double bound = isfinite(want)
                               ? fabs(want) * (2 * BOUND_U + BOUND_U10 + 1e-12) + 2 * BOUND_TINY
                               : 0;
            compare_expect((double)s[j], want, bound, "cap %g, n %zu, s[%zu] = %g", (double)caps[c],
                           n, j, (double)before[j]);
        }
    }
}

static void softcap_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 62, expect_softcap);
}

static void softcap_does_not_depend_on_the_lane(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (size_t n = 1; n <= 40; n++) {
        float *s = guard_floats(n);
        for (size_t j = 0; j < n; j++)
            s[j] = 1.2345f;
        kernels->softcap(s, 3, 1.0f / 3, (ptrdiff_t)n);
        for (size_t j = 1; j < n; j++)
            compare_same_bits(s + j, s, 1, "n %zu, lane %zu", n, j);
        guard_reset();
    }
}

static void expect_alibi(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                         size_t shift_bytes) {
    const float slopes[] = {0.5f, 0.84089642f, -0.3f, 0, 1e30f};
    const float distances[] = {0, 7, -3, 300, 16777216, -1e9f, 9.3e18f};
    for (size_t c = 0; c < TEST_COUNT(slopes) * TEST_COUNT(distances); c++) {
        float slope = slopes[c % TEST_COUNT(slopes)];
        float distance = distances[c / TEST_COUNT(slopes)];
        ptrdiff_t first = test_rng_below(rng, 256);
        float *s = random_row(rng, n, shift_bytes, 5);
        const float *before = copy_row(s, n);
        kernels->alibi(s, slope, distance, first, (ptrdiff_t)n);
        for (size_t j = 0; j < n; j++) {
            float away = fabsf(distance - (float)(first + (ptrdiff_t)j));
            float want = product_fma(kernels, -slope, away, before[j]);
            compare_same_bits(s + j, &want, 1, "n %zu, slope %g, distance %g, first %d, s[%zu]", n,
                              (double)slope, (double)distance, (int)first, j);
        }
        guard_reset();
    }
}

static void alibi_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 66, expect_alibi);
}

static void expect_add_mask(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                            size_t shift_bytes) {
    float *s = random_row(rng, n, shift_bytes, 5);
    const float *x = random_row(rng, n, shift_bytes, 5);
    const float *before = copy_row(s, n);
    kernels->add_mask(s, x, (ptrdiff_t)n);
    for (size_t j = 0; j < n; j++) {
        float want = x[j] == -INFINITY ? -INFINITY : before[j] + x[j];
        compare_same_bits(s + j, &want, 1, "n %zu, %g + mask %g", n, (double)before[j],
                          (double)x[j]);
    }
}

static void add_mask_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 63, expect_add_mask);
}

static void expect_hide(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                        size_t shift_bytes) {
    const uint8_t truths[] = {0, 1, 0x80, 0xff};
    float *s = random_row(rng, n, shift_bytes, 5);
    const float *before = copy_row(s, n);
    uint8_t *visible = guard_alloc(n, shift_bytes / 4); /* bytes need no alignment at all */
    for (size_t j = 0; j < n; j++)
        visible[j] = truths[test_rng_below(rng, 4)];
    kernels->hide(s, visible, (ptrdiff_t)n);
    for (size_t j = 0; j < n; j++) {
        float want = visible[j] != 0 ? before[j] : -INFINITY;
        compare_same_bits(s + j, &want, 1, "n %zu, s[%zu], visible 0x%02x", n, j, visible[j]);
    }
}

static void hide_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 64, expect_hide);
}

static void expect_add(const struct headwise_kernels *kernels, struct test_rng *rng, size_t n,
                       size_t shift_bytes) {
    float *s = random_row(rng, n, shift_bytes, 5);
    const float *x = random_row(rng, n, shift_bytes, 5);
    const float *before = copy_row(s, n);
    kernels->add(s, x, (ptrdiff_t)n);
    for (size_t j = 0; j < n; j++) {
        float want = before[j] + x[j];
        compare_same_bits(s + j, &want, 1, "n %zu, s[%zu]", n, j);
    }
}

static void add_on_the_grid(enum headwise_isa isa) {
    for_lengths(tier_kernels(isa), 65, expect_add);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(normalize_on_the_grid),
        TEST_CASE(softcap_on_the_grid),
        TEST_CASE(softcap_does_not_depend_on_the_lane),
        TEST_CASE(alibi_on_the_grid),
        TEST_CASE(add_mask_on_the_grid),
        TEST_CASE(hide_on_the_grid),
        TEST_CASE(add_on_the_grid),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
