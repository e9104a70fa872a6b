/* rotate_half, rotate_interleaved: every tier must give the contract's bits. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "rng.h"
#include "runner.h"
#include "tier.h"

struct rotation {
    const struct headwise_kernels *kernels;
    bool interleaved;
    size_t m, n, x_stride, y_stride;
    float *x, *y;
    const float *cos, *sin;
};

static float *shifted_floats(size_t n, size_t shift_bytes) {
    return guard_alloc(n * sizeof(float), shift_bytes);
}

/* Rows end exactly where the memory ends; what lies between them is NaN in x. */
static struct rotation make_rotation(const struct headwise_kernels *kernels, struct test_rng *rng,
                                     bool interleaved, size_t m, size_t n, size_t shift_bytes) {
    struct rotation r = {kernels, interleaved, m, n, 2 * n + 3, 2 * n + 1, NULL, NULL, NULL, NULL};
    size_t x_size = (m - 1) * r.x_stride + 2 * n, y_size = (m - 1) * r.y_stride + 2 * n;
    float *cosines = shifted_floats(n, shift_bytes), *sines = shifted_floats(n, shift_bytes);
    r.x = shifted_floats(x_size, shift_bytes);
    r.y = shifted_floats(y_size, shift_bytes);
    for (size_t at = 0; at < x_size; at++)
        r.x[at] = NAN;
    for (size_t i = 0; i < m; i++)
        test_rng_fill(rng, r.x + i * r.x_stride, 2 * n, 3);
    test_rng_fill(rng, cosines, n, 1);
    test_rng_fill(rng, sines, n, 1);
    r.cos = cosines;
    r.sin = sines;
    return r;
}

static void expect_pair(const struct rotation *r, const float *x, const float *y, size_t j) {
    size_t a = r->interleaved ? 2 * j : j, b = r->interleaved ? 2 * j + 1 : r->n + j;
    float want_a = product_fma(r->kernels, x[a], r->cos[j], -(x[b] * r->sin[j]));
    float want_b = product_fma(r->kernels, x[b], r->cos[j], x[a] * r->sin[j]);
    double exact = (double)x[a] * (double)r->cos[j] - (double)x[b] * (double)r->sin[j];
    double size = fabs((double)x[a] * (double)r->cos[j]) + fabs((double)x[b] * (double)r->sin[j]);
    compare_same_bits(y + a, &want_a, 1, "n %zu, first of pair %zu", r->n, j);
    compare_same_bits(y + b, &want_b, 1, "n %zu, second of pair %zu", r->n, j);
    compare_expect((double)y[a], exact, bound_gamma(2) * size + BOUND_TINY, "pair %zu", j);
}

static void run_rotation(const struct rotation *r, float *y, size_t y_stride, const float *x) {
    headwise_rotate_fn *rotate =
        r->interleaved ? r->kernels->rotate_interleaved : r->kernels->rotate_half;
    rotate(y, (ptrdiff_t)y_stride, x, (ptrdiff_t)r->x_stride, r->cos, r->sin, (ptrdiff_t)r->m,
           (ptrdiff_t)r->n);
}

static void expect_rotation(struct rotation *r) {
    size_t x_size = (r->m - 1) * r->x_stride + 2 * r->n;
    float *before = guard_plain(x_size, sizeof(float));
    memcpy(before, r->x, x_size * sizeof(float));
    run_rotation(r, r->y, r->y_stride, r->x);
    compare_same_bits(r->x, before, x_size, "x changed");
    for (size_t i = 0; i < r->m; i++) {
        for (size_t j = 0; j < r->n; j++)
            expect_pair(r, r->x + i * r->x_stride, r->y + i * r->y_stride, j);
        if (i + 1 < r->m)
            guard_expect_untouched(r->y + i * r->y_stride + 2 * r->n, sizeof(float),
                                   "between rows");
    }
    run_rotation(r, r->x, r->x_stride, r->x); /* in place */
    for (size_t i = 0; i < r->m; i++)
        compare_same_bits(r->x + i * r->x_stride, r->y + i * r->y_stride, 2 * r->n,
                          "in place, row %zu", i);
    for (size_t i = 0; i + 1 < r->m; i++)
        compare_same_bits(r->x + i * r->x_stride + 2 * r->n, before + i * r->x_stride + 2 * r->n, 3,
                          "in place, between rows");
}

static void every_number_of_pairs(enum headwise_isa isa) {
    const size_t ms[] = {1, 2, 7};
    struct test_rng rng = test_rng_make(71);
    for (int interleaved = 0; interleaved < 2; interleaved++)
        for (size_t n = 1; n <= 130; n += n < 70 ? 1 : 13)
            for (size_t m = 0; m < TEST_COUNT(ms); m++)
                for (size_t shift = 0; shift <= sizeof(float); shift += sizeof(float)) {
                    struct rotation r =
                        make_rotation(tier_kernels(isa), &rng, interleaved, ms[m], n, shift);
                    expect_rotation(&r);
                    guard_reset();
                }
}

static void no_rows_and_no_pairs(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    float *none = guard_floats(0), *angles = guard_floats(4);
    kernels->rotate_half(none, 8, none, 8, angles, angles, 0, 4);
    kernels->rotate_interleaved(none, 8, none, 8, none, none, 3, 0);
    guard_check();
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_number_of_pairs),
        TEST_CASE(no_rows_and_no_pairs),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
