/* ALiBi slopes, T5's buckets, sinusoids. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

static void expect_slopes(int64_t n, const double *want, size_t n_want) {
    float *slopes = guard_floats((size_t)n);
    assert_int_equal(headwise_alibi_slopes(slopes, n), HEADWISE_OK);
    guard_check();
    for (size_t h = 0; h < n_want; h++)
        compare_expect((double)slopes[h], want[h], 1e-7 * want[h], "%d heads, slope %d", (int)n,
                       (int)h);
}

static void alibi_slopes_of_published_models(enum headwise_isa isa) {
    const double eight[] = {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625};
    const double six[] = {.25, .0625, .015625, .00390625, .5, .125};
    const double twelve[] = {.5,       .25,       .125,      .0625,     .03125,   .015625,
                             .0078125, .00390625, .70710678, .35355339, .1767767, .08838835};
    (void)isa;
    expect_slopes(8, eight, 8);
    expect_slopes(6, six, 6);
    expect_slopes(12, twelve, 12);
    expect_slopes(1, (const double[]){.00390625}, 1);
    expect_slopes(0, NULL, 0);
    float slopes[40];
    assert_int_equal(headwise_alibi_slopes(slopes, 40), HEADWISE_OK);
    compare_expect((double)slopes[0], .84089642, 1e-8, "first of 40");
    compare_expect((double)slopes[39], .27262693, 1e-8, "last of 40");
}

static void alibi_slopes_by_formula(enum headwise_isa isa) {
    float slopes[300];
    (void)isa;
    for (int64_t n = 1; n <= 300; n++) {
        int64_t power = 1;
        while (2 * power <= n)
            power *= 2;
        assert_int_equal(headwise_alibi_slopes(slopes, n), HEADWISE_OK);
        for (int64_t h = 0; h < n; h++) {
            double step = pow(2, -8 / (double)power), half = pow(2, -8 / (2 * (double)power));
            double want = h < power ? pow(step, (double)h + 1)
                                    : pow(half, 2 * ((double)h - (double)power) + 1);
            compare_expect((double)slopes[h], want, (BOUND_U + 1e-12) * want, "%d heads, slope %d",
                           (int)n, (int)h);
        }
    }
}

/* The authors' own function, in the arithmetic of its float32 original. */
static int64_t bucket(int64_t ahead, bool bidirectional, int64_t n, int64_t max_distance) {
    int64_t result = 0, back = -ahead;
    if (bidirectional) {
        n /= 2;
        result = ahead > 0 ? n : 0;
        back = ahead < 0 ? -ahead : ahead;
    } else if (back < 0) {
        back = 0;
    }
    int64_t exact = n / 2;
    if (back < exact)
        return result + back;
    float part = logf((float)back / (float)exact) /
                 (float)log((double)max_distance / (double)exact) * (float)(n - exact);
    int64_t large = exact + (int64_t)part;
    return result + (large < n - 1 ? large : n - 1);
}

struct t5_case {
    int64_t n_buckets, n_heads, max_distance;
    bool bidirectional;
};

static const struct t5_case t5_cases[] = {
    {32, 12, 128, true}, {32, 12, 128, false}, {32, 1, 64, true}, {64, 3, 256, false},
    {320, 2, 800, true}, {4, 5, 2, true},      {2, 2, 7, false},  {6, 2, 9, true},
    {8, 0, 20, false},   {32, 6, 20000, true}, {3, 2, 50, false},
};

static void t5_buckets(enum headwise_isa isa) {
    (void)isa;
    for (size_t i = 0; i < TEST_COUNT(t5_cases); i++) {
        const struct t5_case *c = &t5_cases[i];
        int64_t columns = 2 * c->max_distance + 1;
        float *table = guard_floats((size_t)(c->n_buckets * c->n_heads));
        float *bias = guard_floats((size_t)(columns * c->n_heads));
        for (int64_t at = 0; at < c->n_buckets * c->n_heads; at++)
            table[at] = (float)at;
        assert_int_equal(headwise_t5_bias(bias, table, c->n_buckets, c->n_heads, c->bidirectional,
                                          c->max_distance),
                         HEADWISE_OK);
        guard_check();
        for (int64_t h = 0; h < c->n_heads; h++)
            for (int64_t d = -c->max_distance; d <= c->max_distance; d++) {
                int64_t b = bucket(d, c->bidirectional, c->n_buckets, c->max_distance);
                compare_expect((double)bias[h * columns + d + c->max_distance],
                               (double)(b * c->n_heads + h), 0, "case %d, head %d, distance %d",
                               (int)i, (int)h, (int)d);
            }
        guard_reset();
    }
}

/* T5's own numbers: 32 buckets, 128. Bucket of each distance of the encoder, by hand. */
static void t5_buckets_by_hand(enum headwise_isa isa) {
    const int64_t distances[] = {0,  1,  7,  8,  11, 12, 15, 16, 22,  23,
                                 31, 32, 45, 46, 63, 64, 90, 91, 127, 128};
    const double buckets[] = {0,  1,  7,  8,  8,  9,  9,  10, 10, 11,
                              11, 12, 12, 13, 13, 14, 14, 15, 15, 15};
    float table[32], bias[257];
    (void)isa;
    for (int b = 0; b < 32; b++)
        table[b] = (float)b;
    assert_int_equal(headwise_t5_bias(bias, table, 32, 1, true, 128), HEADWISE_OK);
    for (size_t i = 0; i < TEST_COUNT(distances); i++) {
        compare_expect((double)bias[128 - distances[i]], buckets[i], 0, "%d before",
                       (int)distances[i]);
        compare_expect((double)bias[128 + distances[i]], buckets[i] + (distances[i] > 0 ? 16 : 0),
                       0, "%d after", (int)distances[i]);
    }
}

static void sinusoids(enum headwise_isa isa) {
    const int64_t sizes[][2] = {{0, 4}, {1, 1}, {7, 0}, {50, 6}, {33, 7}, {3000, 64}};
    (void)isa;
    for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
        int64_t n = sizes[s][0], d = sizes[s][1];
        float *table = guard_floats((size_t)(n * d));
        assert_int_equal(headwise_sinusoidal_table(table, n, d), HEADWISE_OK);
        guard_check();
        for (int64_t p = 0; p < n; p++)
            for (int64_t c = 0; c < d; c++) {
                double angle =
                    (double)p / pow(10000, 2 * (double)(c / 2) / (double)d); /* the paper, 3.5 */
                double want = c % 2 == 0 ? sin(angle) : cos(angle);
                compare_expect((double)table[p * d + c], want,
                               BOUND_U * fabs(want) + (angle + 1) * 0x1p-49, "%d x %d: [%d][%d]",
                               (int)n, (int)d, (int)p, (int)c);
            }
        if (n == 3000)
            assert_true(compare_hash(COMPARE_HASH_BASIS, table, 3000 * 64 * sizeof(float)) ==
                        0xef4407447fd2b513u); /* the same on every machine */
        guard_reset();
    }
}

static void wrong_sizes_are_refused(enum headwise_isa isa) {
    float x[64];
    (void)isa;
    assert_int_equal(headwise_alibi_slopes(NULL, 3), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_alibi_slopes(x, -1), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(), "alibi_slopes: n_heads is negative");
    assert_int_equal(headwise_sinusoidal_table(NULL, 1, 1), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_sinusoidal_table(x, -1, 1), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_sinusoidal_table(x, INT64_MAX, 4), HEADWISE_ERR_INVALID);
    const struct {
        int64_t n_buckets, n_heads, max_distance;
        bool bidirectional;
    } bad[] = {{1, 1, 9, false}, {3, 1, 9, true},         {5, 1, 9, true},
               {8, 1, 4, false}, {8, 1, 2, true},         {8, -1, 9, true},
               {8, 1, -3, true}, {8, 1, INT64_MAX, true}, {8, INT64_MAX / 8, 9, true}};
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_int_equal(headwise_t5_bias(x, x, bad[i].n_buckets, bad[i].n_heads,
                                          bad[i].bidirectional, bad[i].max_distance),
                         HEADWISE_ERR_INVALID);
        assert_memory_equal(headwise_last_error(), "t5_bias: ", 9);
    }
    assert_int_equal(headwise_t5_bias(NULL, x, 8, 1, true, 9), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_t5_bias(x, NULL, 8, 1, true, 9), HEADWISE_ERR_INVALID);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(alibi_slopes_of_published_models),
        TEST_CASE(alibi_slopes_by_formula),
        TEST_CASE(t5_buckets),
        TEST_CASE(t5_buckets_by_hand),
        TEST_CASE(sinusoids),
        TEST_CASE(wrong_sizes_are_refused),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
