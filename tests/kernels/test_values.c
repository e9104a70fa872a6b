/* values: c = fma(c, alpha, beta * chain) of a row of weights and a panel of values. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

struct merge {
    float *alpha;
    float *beta;
    float *before; /* c before the call, m x n without gaps */
};

static struct merge fill(struct product *p, struct test_rng *rng) {
    struct merge f = {guard_floats((size_t)p->m), guard_floats((size_t)p->m),
                      guard_floats((size_t)(p->m * p->n))};
    test_rng_fill(rng, f.alpha, (size_t)p->m, 1);
    test_rng_fill(rng, f.beta, (size_t)p->m, 1);
    test_rng_fill(rng, f.before, (size_t)(p->m * p->n), 1);
    for (ptrdiff_t i = 0; i < p->m; i++)
        memcpy(p->c + i * p->c_stride, f.before + i * p->n, (size_t)p->n * sizeof(float));
    return f;
}

static void call(const struct product *p, const struct merge *f) {
    p->kernels->values[HEADWISE_F32](p->c, p->c_stride, p->a, p->a_stride, &p->columns, p->m, p->n,
                                     p->k, f->alpha, f->beta);
}

static float merged(const struct product *p, const struct merge *f, ptrdiff_t i, ptrdiff_t j) {
    float term = f->beta[i] * product_chain(p, i, j, 0);
    return product_fma(p->kernels, f->before[i * p->n + j], f->alpha[i], term);
}

static void expect_values(struct product *p, struct test_rng *rng) {
    struct merge f = fill(p, rng);
    call(p, &f);
    for (ptrdiff_t i = 0; i < p->m; i++)
        for (ptrdiff_t j = 0; j < p->n; j++) {
            float got = p->c[i * p->c_stride + j];
            float chain = merged(p, &f, i, j);
            double magnitude;
            double sum = product_exact(p, i, j, &magnitude);
            double carried = (double)f.before[i * p->n + j] * (double)f.alpha[i];
            double want = carried + (double)f.beta[i] * sum;
            /* k in the chain, one for beta, one for the sum; alpha's product has one of its own in
             * the scalar tier. */
            double bound = bound_gamma((double)p->k + 2) * fabs((double)f.beta[i]) * magnitude +
                           bound_gamma(2) * fabs(carried) + 2 * BOUND_TINY;
            compare_expect(got, want, bound, "m %td n %td k %td, element %td %td", p->m, p->n, p->k,
                           i, j);
            compare_same_bits(&got, &chain, 1, "m %td n %td k %td, element %td %td", p->m, p->n,
                              p->k, i, j);
        }
}

static void follows_the_chain_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 11, shape_keys, SHAPE_KEYS, expect_values);
}

/* As many elements between the rows as panels do not have; the last row ends the memory. */
static void expect_values_in_place(struct product *p, struct test_rng *rng) {
    product_lay_rows(p, p->n + test_rng_below(rng, 40));
    expect_values(p, rng);
}

static void reads_rows_in_place_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 15, shape_keys, SHAPE_KEYS, expect_values_in_place);
}

static void rows_and_panels_do_not_matter(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(12);
    struct product p = product_make(&rng, kernels, 2 * kernels->mr + 1, kernels->nr, 70, 4);
    struct merge f = fill(&p, &rng);
    int width = kernels->nr_min;
    call(&p, &f);
    for (ptrdiff_t j = 0; j < p.n; j += width) {
        float *narrow = guard_floats((size_t)(p.k * width));
        const struct headwise_columns columns = {.data = narrow, .row_stride = width};
        for (ptrdiff_t t = 0; t < p.k; t++)
            memcpy(narrow + t * width, p.b + t * p.n + j, (size_t)width * sizeof(float));
        for (ptrdiff_t i = 0; i < p.m; i++) {
            float *alone = guard_floats((size_t)width);
            memcpy(alone, f.before + i * p.n + j, (size_t)width * sizeof(float));
            kernels->values[HEADWISE_F32](alone, width, p.a + i * p.a_stride, p.a_stride, &columns,
                                          1, width, p.k, f.alpha + i, f.beta + i);
            compare_same_bits(alone, p.c + i * p.c_stride + j, (size_t)width, "row %td panel %td",
                              i, j);
        }
    }
}

/* Hidden keys have weight 0 and packed values 0; what is NaN stays in its row or column. */
static void nan_stays_in_its_row_and_column(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(13);
    struct product p = product_make(&rng, kernels, kernels->mr + 1, kernels->nr, 33, 0);
    struct merge f = fill(&p, &rng);
    p.a[1 * p.a_stride + 32] = NAN;
    p.b[17 * p.n + 2] = NAN;
    f.beta[3] = NAN;
    call(&p, &f);
    for (ptrdiff_t i = 0; i < p.m; i++)
        for (ptrdiff_t j = 0; j < p.n; j++) {
            float want = merged(&p, &f, i, j);
            assert_int_equal(isnan(want) != 0, i == 1 || i == 3 || j == 2);
            compare_same_bits(&p.c[i * p.c_stride + j], &want, 1, "element %td %td", i, j);
        }
}

static void empty_sizes(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(14);
    struct product no_rows = product_make(&rng, kernels, 0, kernels->nr, 7, 0);
    struct merge none = fill(&no_rows, &rng);
    call(&no_rows, &none);
    struct product p = product_make(&rng, kernels, 3, kernels->nr, 0, 0);
    struct merge f = fill(&p, &rng);
    call(&p, &f);
    for (ptrdiff_t i = 0; i < p.m; i++)
        for (ptrdiff_t j = 0; j < p.n; j++) {
            float want = merged(&p, &f, i, j);
            compare_same_bits(&p.c[i * p.c_stride + j], &want, 1, "element %td %td", i, j);
        }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(follows_the_chain_on_the_grid),
        TEST_CASE(reads_rows_in_place_on_the_grid),
        TEST_CASE(rows_and_panels_do_not_matter),
        TEST_CASE(nan_stays_in_its_row_and_column),
        TEST_CASE(empty_sizes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
