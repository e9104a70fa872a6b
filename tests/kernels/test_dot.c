/* Sums of products of bytes by every way that this processor has: exact, whatever the bytes. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "tier.h"

/* Bytes that reach the extremes often; with a sign in the neon tier, whose zero is -128. */
static int random_byte(struct test_rng *rng, int lowest) {
    int64_t kind = test_rng_below(rng, 4);
    return lowest + (int)(kind == 0 ? 0 : kind == 1 ? 255 : test_rng_below(rng, 256));
}

static int lowest_byte(enum headwise_isa isa) {
    return isa == HEADWISE_ISA_NEON ? -128 : 0;
}

/* A product of m rows and n columns of k inputs. */
struct product {
    ptrdiff_t m, k, stride, y_stride;
    int n, together, lowest;
    int8_t *panel;
    uint8_t *bytes;
    int32_t *sums;
    float *scales, *bias, *y;
    struct headwise_rounding *roundings;
};

static int weight_of(const struct product *p, ptrdiff_t t, int j) {
    return p->panel[(t / p->together * p->n + j) * p->together + t % p->together];
}

static int byte_of(const struct product *p, ptrdiff_t i, ptrdiff_t t) {
    uint8_t byte = p->bytes[i * p->stride + t];
    return p->lowest < 0 ? (int8_t)byte : byte;
}

static struct product make_product(enum headwise_isa isa, const struct headwise_dot *dot,
                                   struct test_rng *rng, ptrdiff_t m, int n, ptrdiff_t k) {
    ptrdiff_t depth = (k + dot->together - 1) / dot->together * dot->together;
    ptrdiff_t stride = (k + HEADWISE_DOT_STEP - 1) / HEADWISE_DOT_STEP * HEADWISE_DOT_STEP + 3;
    struct product p = {.m = m, .k = k, .stride = stride, .y_stride = n + 2, .n = n};
    p.together = dot->together;
    p.lowest = lowest_byte(isa);
    p.panel = guard_alloc((size_t)(depth * n), 0);
    p.bytes = guard_alloc((size_t)((m - 1) * stride + stride - 3), 0);
    p.sums = guard_alloc((size_t)n * sizeof(int32_t), 0);
    p.roundings = guard_alloc((size_t)m * sizeof *p.roundings, 0);
    p.scales = guard_floats((size_t)n);
    p.bias = guard_floats((size_t)n);
    p.y = guard_floats((size_t)((m - 1) * p.y_stride + n));
    memset(p.panel, 0, (size_t)(depth * n));
    for (ptrdiff_t t = 0; t < k; t++)
        for (int j = 0; j < n; j++)
            p.panel[(t / p.together * n + j) * p.together + t % p.together] =
                (int8_t)random_byte(rng, -128);
    for (ptrdiff_t i = 0; i < (m - 1) * stride + stride - 3; i++) /* beyond k anything may stand */
        p.bytes[i] = (uint8_t)random_byte(rng, 0);
    for (int j = 0; j < n; j++)
        for (ptrdiff_t t = p.sums[j] = 0; t < k; t++)
            p.sums[j] += weight_of(&p, t, j);
    for (ptrdiff_t i = 0; i < m; i++)
        p.roundings[i] = (struct headwise_rounding){ldexpf(1, (int)test_rng_below(rng, 9) - 4), 0,
                                                    0, random_byte(rng, p.lowest)};
    test_rng_fill(rng, p.scales, (size_t)n, 1);
    test_rng_fill(rng, p.bias, (size_t)n, 1);
    return p;
}

/* The sum over inputs from first to end - 1 of (byte - zero) w. */
static int64_t sum_of(const struct product *p, ptrdiff_t i, int j) {
    int64_t sum = 0;
    for (ptrdiff_t t = 0; t < p->k; t++)
        sum += (int64_t)(byte_of(p, i, t) - p->roundings[i].zero_byte) * weight_of(p, t, j);
    return sum;
}

/* What is in y, against factor times the sums, or those scaled. */
static void expect_sums(const struct product *p, const char *name, int64_t factor, bool scaled) {
    for (ptrdiff_t i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            const float *y = p->y + i * p->y_stride + j;
            int64_t want = factor * sum_of(p, i, j);
            int32_t got;
            memcpy(&got, y, sizeof got);
            if (!scaled && got != want)
                fail_msg("%s, m %td n %d k %td, element %td %d: %d, expected %lld", name, p->m,
                         p->n, p->k, i, j, got, (long long)want);
            /* the product with a power of two is exact, so that only the addition rounds */
            float product = (float)want * p->scales[j] * p->roundings[i].scale;
            float end = product + p->bias[j];
            if (scaled)
                compare_same_bits(y, &end, 1, "%s, m %td n %d k %td, element %td %d", name, p->m,
                                  p->n, p->k, i, j);
        }
}

/* What is in y takes the bias's place: the bias itself here. */
static void check_adding(const struct product *p, const struct headwise_dot *dot,
                         const struct headwise_dot_rows *rows,
                         const struct headwise_dot_columns *columns) {
    struct headwise_dot_columns adding = *columns;
    if (p->k > HEADWISE_DOT_GROUP)
        return;
    adding.bias = NULL;
    adding.adds = true;
    for (ptrdiff_t i = 0; i < p->m; i++)
        memcpy(p->y + i * p->y_stride, p->bias, (size_t)p->n * sizeof(float));
    dot->multiply(p->y, p->y_stride, rows, &adding, false);
    expect_sums(p, dot->name, 1, true);
}

static void check_dot(enum headwise_isa isa, const struct headwise_dot *dot, struct test_rng *rng,
                      ptrdiff_t m, int n, ptrdiff_t k) {
    struct product p = make_product(isa, dot, rng, m, n, k);
    const struct headwise_dot_rows rows = {p.bytes, p.stride, p.roundings, m, 0, NULL};
    struct headwise_dot_columns columns = {.panel = p.panel, .n = n, .k = k, .sums = p.sums};
    dot->multiply(p.y, p.y_stride, &rows, &columns, false);
    expect_sums(&p, dot->name, 1, false);
    dot->multiply(p.y, p.y_stride, &rows, &columns, true);
    expect_sums(&p, dot->name, 2, false);
    columns.scales = p.scales;
    columns.bias = p.bias;
    dot->multiply(p.y, p.y_stride, &rows, &columns, true);
    expect_sums(&p, dot->name, 3, true);
    check_adding(&p, dot, &rows, &columns);
    memset(p.bias, 0, (size_t)n * sizeof(float));
    columns.bias = NULL;
    dot->multiply(p.y, p.y_stride, &rows, &columns, false);
    expect_sums(&p, dot->name, 1, true);
    guard_check();
}

/* Groups of one call, against a call for each group, which adds to what the one before left. What
 * is set up for one call stays for the next. */
static void check_groups(enum headwise_isa isa, const struct headwise_dot *dot,
                         struct headwise_dot_state *state, struct test_rng *rng, ptrdiff_t m, int n,
                         ptrdiff_t k, ptrdiff_t group) {
    struct product p = make_product(isa, dot, rng, m, n, k);
    ptrdiff_t groups = (k + group - 1) / group, floats = groups * n;
    struct headwise_rounding *roundings = guard_alloc((size_t)(groups * m) * sizeof *roundings, 0);
    int32_t *sums = guard_alloc((size_t)floats * sizeof *sums, 0);
    float *scales = guard_floats((size_t)floats), *want = guard_floats((size_t)(m * n));
    test_rng_fill(rng, scales, (size_t)floats, 1);
    for (ptrdiff_t i = 0; i < groups * m; i++)
        roundings[i] = (struct headwise_rounding){0.5f + test_rng_float(rng), 0, 0,
                                                  random_byte(rng, p.lowest)};
    for (ptrdiff_t i = 0; i < floats; i++)
        sums[i] = (int32_t)test_rng_below(rng, 1000) - 500;
    for (ptrdiff_t g = 0, t = 0; g < groups; g++, t += group) {
        const struct headwise_dot_rows rows = {p.bytes + t, p.stride, roundings + g * m,
                                               m,           0,        state};
        const struct headwise_dot_columns columns = {.panel = p.panel + t * n,
                                                     .n = n,
                                                     .k = k - t < group ? k - t : group,
                                                     .sums = sums + g * n,
                                                     .scales = scales + g * n,
                                                     .bias = p.bias,
                                                     .adds = g > 0};
        dot->multiply(want, n, &rows, &columns, false);
    }
    const struct headwise_dot_rows rows = {p.bytes, p.stride, roundings, m, m, state};
    const struct headwise_dot_columns columns = {p.panel, n,     k,     sums, scales,
                                                 p.bias,  false, group, n};
    dot->multiply(p.y, p.y_stride, &rows, &columns, false);
    for (ptrdiff_t i = 0; i < m; i++)
        compare_same_bits(p.y + i * p.y_stride, want + i * n, n,
                          "%s, m %td n %d k %td, groups of %td", dot->name, m, n, k, group);
    guard_reset();
}

/* One that the system refuses would be tested as another, and says so. */
static bool is_refused(const struct headwise_dot *dot) {
    bool refused = dot->is_usable && !dot->is_usable();
    if (refused)
        print_message("%s: the system refuses it\n", dot->name);
    return refused;
}

static void sums_are_exact(enum headwise_isa isa) {
    static const ptrdiff_t ks[] = {1, 3, 4, 5, 16, 17, 63, 64, 65, 200, 1024};
    static const ptrdiff_t ms[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16, 17, 31, 32, 33, 49, 70};
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const struct headwise_dot *dot;
    struct test_rng rng = test_rng_make(961);
    assert_non_null(headwise_dot_get(isa, 0));
    for (int number = 0; (dot = headwise_dot_get(isa, number)); number++)
        for (size_t ik = is_refused(dot) ? TEST_COUNT(ks) : 0; ik < TEST_COUNT(ks); ik++)
            for (size_t im = 0; im < TEST_COUNT(ms); im++)
                for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min) {
                    check_dot(isa, dot, &rng, ms[im], n, ks[ik]);
                    guard_release();
                }
}

static void groups_follow_one_another(enum headwise_isa isa) {
    static const ptrdiff_t ks[] = {1, 64, 128, 130, 192, 576, 1027}, ms[] = {1, 3, 16, 33, 50};
    static const ptrdiff_t groups[] = {64, 128, 512};
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const struct headwise_dot *dot;
    struct test_rng rng = test_rng_make(963);
    for (int number = 0; (dot = headwise_dot_get(isa, number)); number++) {
        struct headwise_dot_state state = {{0, 0}};
        for (size_t ik = is_refused(dot) ? TEST_COUNT(ks) : 0; ik < TEST_COUNT(ks); ik++)
            for (size_t im = 0; im < TEST_COUNT(ms); im++)
                for (size_t ig = 0; ig < TEST_COUNT(groups); ig++)
                    for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min)
                        check_groups(isa, dot, &state, &rng, ms[im], n, ks[ik], groups[ig]);
        if (dot->release)
            dot->release(&state);
        assert_int_equal(state.rows[0], 0);
    }
}

/* The most inputs, all of the largest product: 255 from the zero, weights of -128, and of 127. */
static void the_largest_sums_fit(enum headwise_isa isa) {
    enum { K = HEADWISE_DOT_INPUTS };
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const struct headwise_dot *dot;
    int lowest = lowest_byte(isa), n = kernels->nr_min;
    struct test_rng rng = test_rng_make(962);
    for (int number = 0; (dot = headwise_dot_get(isa, number)); number++)
        for (ptrdiff_t m = 1; m <= 18; m += 17) {
            struct product p = make_product(isa, dot, &rng, m, n, K);
            const struct headwise_dot_rows rows = {p.bytes, p.stride, p.roundings, m, 0, NULL};
            const struct headwise_dot_columns columns = {
                .panel = p.panel, .n = n, .k = K, .sums = p.sums};
            for (ptrdiff_t i = 0; i < m; i++) {
                p.roundings[i].zero_byte = i % 2 == 0 ? lowest : lowest + 255;
                memset(p.bytes + i * p.stride, i % 2 == 0 ? lowest + 255 : lowest, K);
            }
            for (int j = 0; j < n; j++)
                p.sums[j] = K * (j % 2 == 0 ? -128 : 127);
            for (ptrdiff_t t = 0; t < K; t++)
                for (int j = 0; j < n; j++)
                    p.panel[(t / p.together * n + j) * p.together + t % p.together] =
                        j % 2 == 0 ? -128 : 127;
            dot->multiply(p.y, p.y_stride, &rows, &columns, false);
            expect_sums(&p, dot->name, 1, false);
            guard_reset();
        }
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(sums_are_exact),
                                      TEST_CASE(groups_follow_one_another),
                                      TEST_CASE(the_largest_sums_fit)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
