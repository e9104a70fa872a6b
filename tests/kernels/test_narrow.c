/* scores, values and project on panels that are stored narrow: the bits that the same kernel gives
 * on the panel widened first. */
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "product.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

enum { GROUP = HEADWISE_SCALE_GROUP };

/* The panels of a product in another type: b is what they widen to. */
struct narrow {
    void *b;
    float *scales;
    struct headwise_columns columns;
};

static void fill_scales(struct test_rng *rng, float *scales, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        scales[i] = 0.01f + 0.005f * test_rng_float(rng);
}

static struct narrow narrow_halves(struct product *p, enum headwise_dtype dtype,
                                   size_t shift_bytes) {
    ptrdiff_t n = (ptrdiff_t)p->b_size;
    struct narrow narrow = {guard_alloc((size_t)n * 2, shift_bytes), NULL, p->columns};
    narrow.columns.data = narrow.b;
    p->kernels->narrow[dtype](narrow.b, p->b, n);
    p->kernels->widen[dtype](p->b, narrow.b, n);
    return narrow;
}

/* Integers; b becomes the same numbers without scales. */
static struct narrow narrow_integers(struct product *p, struct test_rng *rng, ptrdiff_t n_scales,
                                     size_t shift_bytes) {
    ptrdiff_t n = (ptrdiff_t)p->b_size;
    struct narrow narrow = {guard_alloc((size_t)n, shift_bytes), guard_floats((size_t)n_scales),
                            p->columns};
    narrow.columns.data = narrow.b;
    narrow.columns.scales = narrow.scales;
    fill_scales(rng, narrow.scales, n_scales);
    for (ptrdiff_t i = 0; i < n; i++) {
        int8_t x = (int8_t)(test_rng_below(rng, 256) - 128);
        ((int8_t *)narrow.b)[i] = x;
        p->b[i] = (float)x;
    }
    return narrow;
}

/* C of the narrow kernel, which is in p->c, beside C of the f32 kernel. */
static void expect_same(const struct product *p, const float *want, const char *what) {
    for (ptrdiff_t i = 0; i < p->m; i++)
        compare_same_bits(p->c + i * p->c_stride, want + i * p->n, (size_t)p->n,
                          "%s m %td n %td k %td, row %td", what, p->m, p->n, p->k, i);
}

static const float scale = 0.17677669f;

static void call_scores(struct product *p, struct test_rng *rng, headwise_scores_fn *narrow,
                        const struct narrow *b, const char *what) {
    float *want = guard_floats((size_t)(p->m * p->n));
    (void)rng;
    p->kernels->scores[HEADWISE_F32](want, p->n, p->a, p->a_stride, 1, &p->columns, p->m, p->n,
                                     p->k, scale);
    narrow(p->c, p->c_stride, p->a, p->a_stride, 1, &b->columns, p->m, p->n, p->k, scale);
    expect_same(p, want, what);
}

static void expect_scores_of_halves(struct product *p, struct test_rng *rng) {
    struct narrow f16 = narrow_halves(p, HEADWISE_F16, 0);
    call_scores(p, rng, p->kernels->scores[HEADWISE_F16], &f16, "f16");
    struct narrow bf16 = narrow_halves(p, HEADWISE_BF16, 2);
    call_scores(p, rng, p->kernels->scores[HEADWISE_BF16], &bf16, "bf16");
}

static void expect_scores_of_integers(struct product *p, struct test_rng *rng) {
    ptrdiff_t groups = (p->k + GROUP - 1) / GROUP, width = p->columns.row_stride;
    struct narrow i8 = narrow_integers(p, rng, groups * p->n, (size_t)(p->k % 2));
    i8.columns.scales_stride = groups * width;
    for (ptrdiff_t j = 0; j < p->n; j += width) {
        ptrdiff_t at = j / width * p->columns.panel_stride;
        p->kernels->widen_keys_i8(p->b + at, (int8_t *)i8.b + at, i8.scales + j * groups,
                                  (int)width, p->k);
    }
    call_scores(p, rng, p->kernels->scores[HEADWISE_I8], &i8, "i8");
}

static void call_values(struct product *p, struct test_rng *rng, headwise_values_fn *narrow,
                        const struct narrow *b, const char *what) {
    size_t m = (size_t)p->m;
    float *want = guard_floats(m * (size_t)p->n), *alpha = guard_floats(m), *beta = guard_floats(m);
    test_rng_fill(rng, alpha, m, 1);
    test_rng_fill(rng, beta, m, 1);
    for (ptrdiff_t i = 0; i < p->m; i++) {
        test_rng_fill(rng, want + i * p->n, (size_t)p->n, 1);
        memcpy(p->c + i * p->c_stride, want + i * p->n, (size_t)p->n * sizeof(float));
    }
    p->kernels->values[HEADWISE_F32](want, p->n, p->a, p->a_stride, &p->columns, p->m, p->n, p->k,
                                     alpha, beta);
    narrow(p->c, p->c_stride, p->a, p->a_stride, &b->columns, p->m, p->n, p->k, alpha, beta);
    expect_same(p, want, what);
}

static void expect_values_of_halves(struct product *p, struct test_rng *rng) {
    struct narrow f16 = narrow_halves(p, HEADWISE_F16, 2);
    call_values(p, rng, p->kernels->values[HEADWISE_F16], &f16, "f16");
    struct narrow bf16 = narrow_halves(p, HEADWISE_BF16, 0);
    call_values(p, rng, p->kernels->values[HEADWISE_BF16], &bf16, "bf16");
}

static void expect_values_of_integers(struct product *p, struct test_rng *rng) {
    ptrdiff_t groups = (p->n + GROUP - 1) / GROUP, width = p->columns.row_stride;
    struct narrow i8 = narrow_integers(p, rng, groups * p->k, (size_t)(p->k % 2));
    i8.columns.scales_stride = p->k;
    for (ptrdiff_t j = 0; j < p->n; j += width) {
        ptrdiff_t at = j / width * p->columns.panel_stride;
        p->kernels->widen_values_i8(p->b + at, (int8_t *)i8.b + at, i8.scales + j / GROUP * p->k,
                                    (int)width, p->k);
    }
    call_values(p, rng, p->kernels->values[HEADWISE_I8], &i8, "i8");
}

/* The chain in two calls, the second with bias and scales, beside the f32 chain. */
static void call_project(struct product *p, struct test_rng *rng, headwise_project_fn *narrow,
                         const struct narrow *b, size_t size, const char *what) {
    ptrdiff_t cut = test_rng_below(rng, p->k + 1);
    float *want = guard_floats((size_t)(p->m * p->n)), *bias = guard_floats((size_t)p->n);
    test_rng_fill(rng, bias, (size_t)p->n, 1);
    p->kernels->project[HEADWISE_F32](want, p->n, p->a, p->a_stride, 1, &p->columns, p->m, p->n,
                                      p->k, false, NULL);
    for (ptrdiff_t i = 0; i < p->m * p->n; i++) {
        if (b->scales != NULL)
            want[i] *= b->scales[i % p->n];
        want[i] += bias[i % p->n];
    }
    struct headwise_columns first = b->columns, rest = b->columns;
    first.scales = NULL;
    rest.data = (const char *)b->b + (size_t)product_b_at(p, cut, 0) * size;
    narrow(p->c, p->c_stride, p->a, p->a_stride, 1, &first, p->m, p->n, cut, false, NULL);
    narrow(p->c, p->c_stride, p->a + cut, p->a_stride, 1, &rest, p->m, p->n, p->k - cut, true,
           bias);
    expect_same(p, want, what);
}

static void expect_projections(struct product *p, struct test_rng *rng) {
    struct narrow f16 = narrow_halves(p, HEADWISE_F16, 0);
    call_project(p, rng, p->kernels->project[HEADWISE_F16], &f16, 2, "f16");
    struct narrow bf16 = narrow_halves(p, HEADWISE_BF16, 2);
    call_project(p, rng, p->kernels->project[HEADWISE_BF16], &bf16, 2, "bf16");
    struct narrow i8 = narrow_integers(p, rng, p->n, 1);
    call_project(p, rng, p->kernels->project[HEADWISE_I8], &i8, 1, "i8");
}

static void scores_are_those_of_the_widened_panel(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 901, shape_dims, SHAPE_DIMS, expect_scores_of_halves);
    product_for_grid(tier_kernels(isa), 902, shape_dims, SHAPE_DIMS, expect_scores_of_integers);
}

static void values_are_those_of_the_widened_panel(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 903, shape_dims, SHAPE_DIMS, expect_values_of_halves);
    product_for_grid(tier_kernels(isa), 904, shape_dims, SHAPE_DIMS, expect_values_of_integers);
}

static void projections_are_those_of_the_widened_panel(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 905, shape_dims, SHAPE_DIMS, expect_projections);
}

/* Every f16 and bf16 there is, as the only key of its column, against a query of 1. */
static void every_half_is_widened_alike(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(906);
    struct product p = product_make(&rng, kernels, 1, kernels->nr, 1, 0);
    struct narrow halves = {guard_alloc((size_t)p.n * 2, 0), NULL, p.columns};
    uint16_t *b = halves.b;
    halves.columns.data = b;
    p.a[0] = 1;
    for (uint32_t first = 0; first < 0x10000; first += (uint32_t)p.n) {
        for (int j = 0; j < p.n; j++)
            b[j] = (uint16_t)(first + (uint32_t)j);
        kernels->widen[HEADWISE_F16](p.b, b, p.n);
        call_scores(&p, &rng, kernels->scores[HEADWISE_F16], &halves, "f16");
        kernels->widen[HEADWISE_BF16](p.b, b, p.n);
        call_scores(&p, &rng, kernels->scores[HEADWISE_BF16], &halves, "bf16");
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(scores_are_those_of_the_widened_panel),
        TEST_CASE(values_are_those_of_the_widened_panel),
        TEST_CASE(projections_are_those_of_the_widened_panel),
        TEST_CASE(every_half_is_widened_alike),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
