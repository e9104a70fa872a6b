/* project: one panel of a linear projection, its chain continued over calls, then the bias. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

static void call(const struct product *p, bool resume, const float *bias) {
    p->kernels->project[HEADWISE_F32](p->c, p->c_stride, p->a, p->a_stride, p->a_rows, &p->columns,
                                      p->m, p->n, p->k, resume, bias);
}

static void expect_projection(struct product *p, struct test_rng *rng) {
    float *bias = guard_floats((size_t)p->n);
    test_rng_fill(rng, bias, (size_t)p->n, 1);
    call(p, false, bias);
    for (ptrdiff_t i = 0; i < p->m; i++)
        for (ptrdiff_t j = 0; j < p->n; j++) {
            float got = p->c[i * p->c_stride + j];
            float chain = product_chain(p, i, j, 0) + bias[j];
            double magnitude;
            double want = product_exact(p, i, j, &magnitude) + (double)bias[j];
            double bound = bound_gamma((double)p->k) * magnitude +
                           BOUND_U * (fabs(want) + bound_gamma((double)p->k) * magnitude) +
                           BOUND_TINY;
            compare_expect(got, want, bound, "m %td n %td k %td, element %td %td", p->m, p->n, p->k,
                           i, j);
            compare_same_bits(&got, &chain, 1, "m %td n %td k %td, element %td %td", p->m, p->n,
                              p->k, i, j);
        }
}

static void follows_the_chain_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 21, shape_dims, SHAPE_DIMS, expect_projection);
}

static void expect_projection_of_panels(struct product *p, struct test_rng *rng) {
    product_pack_rows(p);
    expect_projection(p, rng);
}

static void takes_row_panels_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 26, shape_dims, SHAPE_DIMS, expect_projection_of_panels);
}

/* The chain cut anywhere gives the bits of the whole: first part, middle part, rest with bias. */
static void expect_resumed(struct product *p, struct test_rng *rng) {
    const struct headwise_kernels *kernels = p->kernels;
    ptrdiff_t cut[4] = {0, test_rng_below(rng, p->k + 1), 0, p->k};
    cut[2] = cut[1] + test_rng_below(rng, p->k - cut[1] + 1);
    float *whole = guard_floats((size_t)(p->m * p->n));
    float *bias = guard_floats((size_t)p->n);
    test_rng_fill(rng, bias, (size_t)p->n, 1);
    kernels->project[HEADWISE_F32](whole, p->n, p->a, p->a_stride, p->a_rows, &p->columns, p->m,
                                   p->n, p->k, false, bias);
    for (int part = 0; part < 3; part++) {
        struct headwise_columns columns = p->columns;
        columns.data = p->b + product_b_at(p, cut[part], 0);
        kernels->project[HEADWISE_F32](p->c, p->c_stride, p->a + cut[part], p->a_stride, 1,
                                       &columns, p->m, p->n, cut[part + 1] - cut[part], part > 0,
                                       part == 2 ? bias : NULL);
    }
    for (ptrdiff_t i = 0; i < p->m; i++)
        compare_same_bits(p->c + i * p->c_stride, whole + i * p->n, (size_t)p->n,
                          "m %td n %td k %td cut at %td and %td, row %td", p->m, p->n, p->k, cut[1],
                          cut[2], i);
}

static void a_cut_chain_gives_the_same_bits(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 22, shape_dims, SHAPE_DIMS, expect_resumed);
}

static void rows_and_panels_do_not_matter(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(23);
    struct product p = product_make(&rng, kernels, 2 * kernels->mr + 1, kernels->nr, 65, 0);
    int width = kernels->nr_min;
    call(&p, false, NULL);
    for (ptrdiff_t j = 0; j < p.n; j += width) {
        float *narrow = guard_floats((size_t)(p.k * width));
        const struct headwise_columns columns = {.data = narrow, .row_stride = width};
        for (ptrdiff_t t = 0; t < p.k; t++)
            memcpy(narrow + t * width, p.b + t * p.n + j, (size_t)width * sizeof(float));
        for (ptrdiff_t i = 0; i < p.m; i++) {
            float *alone = guard_floats((size_t)width);
            kernels->project[HEADWISE_F32](alone, width, p.a + i * p.a_stride, p.a_stride, 1,
                                           &columns, 1, width, p.k, false, NULL);
            compare_same_bits(alone, p.c + i * p.c_stride + j, (size_t)width, "row %td panel %td",
                              i, j);
        }
    }
}

static void nan_stays_in_its_row_and_column(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(24);
    struct product p = product_make(&rng, kernels, kernels->mr + 1, kernels->nr, 17, 4);
    p.a[2 * p.a_stride + 16] = NAN;
    p.b[0 * p.n + 3] = INFINITY;
    call(&p, false, NULL);
    for (ptrdiff_t i = 0; i < p.m; i++)
        for (ptrdiff_t j = 0; j < p.n; j++) {
            float want = product_chain(&p, i, j, 0);
            assert_int_equal(isfinite(want) != 0, i != 2 && j != 3);
            compare_same_bits(&p.c[i * p.c_stride + j], &want, 1, "element %td %td", i, j);
        }
}

static void empty_sizes(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(25);
    struct product no_rows = product_make(&rng, kernels, 0, kernels->nr, 7, 0);
    call(&no_rows, true, NULL);
    struct product p = product_make(&rng, kernels, 3, kernels->nr, 0, 0);
    float *bias = guard_floats((size_t)p.n);
    test_rng_fill(&rng, bias, (size_t)p.n, 1);
    call(&p, false, bias);
    call(&p, true, bias); /* no terms: c + bias */
    for (ptrdiff_t i = 0; i < p.m; i++)
        for (ptrdiff_t j = 0; j < p.n; j++)
            assert_true(p.c[i * p.c_stride + j] == bias[j] + bias[j]);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(follows_the_chain_on_the_grid),   TEST_CASE(takes_row_panels_on_the_grid),
        TEST_CASE(a_cut_chain_gives_the_same_bits), TEST_CASE(rows_and_panels_do_not_matter),
        TEST_CASE(nan_stays_in_its_row_and_column), TEST_CASE(empty_sizes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
