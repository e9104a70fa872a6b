/* row_stats: sums over a row of numerators, and the place of its maximum. */
#include <float.h>
#include <math.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

static ptrdiff_t padded(ptrdiff_t n) {
    return (n + HEADWISE_SUM_LANES - 1) / HEADWISE_SUM_LANES * HEADWISE_SUM_LANES;
}

/* A row in guarded memory: numerators and scores padded as the contract asks. */
struct row {
    ptrdiff_t n;
    float *p, *s;
    float max, first;
};

/* Scores in (-spread, spread), one in eight hidden; numerators exp(s - max) as float64 rounds them.
 */
static struct row make_row(struct test_rng *rng, ptrdiff_t n, float spread, float first,
                           size_t shift_bytes) {
    struct row row = {.n = n, .max = -INFINITY, .first = first};
    size_t bytes = (size_t)padded(n) * sizeof(float);
    row.p = guard_alloc(bytes, shift_bytes);
    row.s = guard_alloc(bytes, shift_bytes);
    for (ptrdiff_t j = 0; j < padded(n); j++) {
        row.s[j] = j < n ? spread * test_rng_float(rng) : 0;
        if (j < n && test_rng_below(rng, 8) == 0)
            row.s[j] = -INFINITY;
        if (j < n && row.s[j] > row.max)
            row.max = row.s[j];
    }
    for (ptrdiff_t j = 0; j < padded(n); j++)
        row.p[j] =
            j < n && row.s[j] > -INFINITY ? (float)exp((double)row.s[j] - (double)row.max) : 0;
    return row;
}

/* n / 16 fused steps and 4 of the fold for each sum; a score's difference from max and j + first
 * (exact: below 2^24) are rounded once. The scalar tier rounds products too. */
static void expect_row(const struct headwise_kernels *kernels, const struct row *row) {
    double entropy = 0, distance = 0, strongest = INFINITY;
    for (ptrdiff_t j = 0; j < row->n; j++) {
        double p = (double)row->p[j];
        if (row->s[j] > -INFINITY)
            entropy += p * ((double)row->s[j] - (double)row->max);
        distance += p * fabs((double)j + (double)row->first);
        if (strongest == (double)INFINITY && row->s[j] == row->max)
            strongest = (double)j;
    }
    float got[3] = {NAN, NAN, NAN};
    kernels->row_stats(got, got + 1, got + 2, row->p, row->s, row->n, row->max, row->first);
    double roundings = 2.0 * ceil((double)row->n / HEADWISE_SUM_LANES) + 4 + 1;
    compare_expect((double)got[0], entropy, bound_gamma(roundings) * fabs(entropy) + BOUND_NORMAL,
                   "entropy of %td", row->n);
    compare_expect((double)got[1], distance, bound_gamma(roundings) * distance + BOUND_NORMAL,
                   "distance of %td from %g", row->n, (double)row->first);
    if (row->max > -INFINITY)
        compare_expect((double)got[2], strongest, 0, "strongest of %td", row->n);
}

static void matches_float64_on_the_grid(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const float spreads[] = {0, 1, 20, 200};
    const float firsts[] = {0, -7, -255, 31, 1000003, -16000000};
    struct test_rng rng = test_rng_make(341);
    for (ptrdiff_t n = 1; n <= HEADWISE_KEY_BLOCK; n += n < 40 ? 1 : 27)
        for (size_t s = 0; s < TEST_COUNT(spreads); s++)
            for (size_t f = 0; f < TEST_COUNT(firsts); f++) {
                struct row row = make_row(&rng, n, spreads[s], firsts[f], f % 2 * sizeof(float));
                expect_row(kernels, &row);
                guard_reset();
            }
}

/* The lowest of equal maxima, wherever they stand; padding that equals max does not count. */
static void ties_go_to_the_lowest_key(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (ptrdiff_t at = 0; at < 70; at++)
        for (ptrdiff_t other = at; other < 70; other += 9) {
            struct row row = {.n = 70, .p = guard_floats(80), .s = guard_floats(80), .max = 0};
            for (ptrdiff_t j = 0; j < 80; j++) {
                row.s[j] = j == at || j == other || j >= 70 ? 0 : -1 - (float)(j % 3);
                row.p[j] = j < 70 ? (float)exp((double)row.s[j]) : 0;
            }
            expect_row(kernels, &row);
            guard_reset();
        }
}

static void a_hidden_row_gives_zeros(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    for (ptrdiff_t n = 1; n <= 40; n++) {
        struct row row = {.n = n, .p = guard_floats((size_t)padded(n)), .max = -INFINITY};
        row.s = guard_floats((size_t)padded(n));
        for (ptrdiff_t j = 0; j < padded(n); j++) {
            row.p[j] = 0;
            row.s[j] = j < n ? -INFINITY : 0;
        }
        float entropy = 1, distance = 1, strongest = 1;
        kernels->row_stats(&entropy, &distance, &strongest, row.p, row.s, n, row.max, -3);
        assert_true(entropy == 0 && distance == 0);
        guard_reset();
    }
}

/* Masks of -FLT_MAX make differences that no f32 holds: 0 * -inf must not come of them. */
static void far_scores_stay_numbers(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct row row = {.n = 16, .p = guard_floats(16), .s = guard_floats(16), .max = FLT_MAX};
    for (int j = 0; j < 16; j++) {
        row.s[j] = j == 5 ? FLT_MAX : -FLT_MAX;
        row.p[j] = j == 5;
    }
    float entropy, distance, strongest;
    kernels->row_stats(&entropy, &distance, &strongest, row.p, row.s, 16, FLT_MAX, -5);
    assert_true(entropy == 0 && distance == 0 && strongest == 5);
}

static void nan_comes_out(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(342);
    for (ptrdiff_t at = 0; at < 39; at++) {
        struct row row = make_row(&rng, 39, 3, 2, 0);
        float entropy, distance, strongest;
        row.p[at] = row.s[at] = NAN;
        kernels->row_stats(&entropy, &distance, &strongest, row.p, row.s, 39, row.max, 2);
        assert_true(isnan(entropy) && isnan(distance));
        guard_reset();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(matches_float64_on_the_grid),
        TEST_CASE(ties_go_to_the_lowest_key),
        TEST_CASE(a_hidden_row_gives_zeros),
        TEST_CASE(far_scores_stay_numbers),
        TEST_CASE(nan_comes_out),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
