/* scores: c[i][j] = scale * chain of a row of queries and a panel of keys. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "product.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

static const float scale = 0.17677669f;

static void call(const struct product *p, float factor) {
    p->kernels->scores[HEADWISE_F32](p->c, p->c_stride, p->a, p->a_stride, p->a_rows, &p->columns,
                                     p->m, p->n, p->k, factor);
}

static void expect_scores(struct product *p, struct test_rng *rng) {
    (void)rng;
    call(p, scale);
    for (ptrdiff_t i = 0; i < p->m; i++)
        for (ptrdiff_t j = 0; j < p->n; j++) {
            float got = p->c[i * p->c_stride + j];
            float chain = scale * product_chain(p, i, j, 0);
            double magnitude;
            double want = (double)scale * product_exact(p, i, j, &magnitude);
            /* k roundings in the chain (2k - 1 in multiply and add, which is gamma(k) too: a term
             * passes through its product and at most k - 1 sums) and one for the scale. */
            double bound = bound_gamma((double)p->k + 1) * (double)scale * magnitude + BOUND_TINY;
            compare_expect(got, want, bound, "m %td n %td k %td, element %td %td", p->m, p->n, p->k,
                           i, j);
            compare_same_bits(&got, &chain, 1, "m %td n %td k %td, element %td %td", p->m, p->n,
                              p->k, i, j);
        }
}

static void follows_the_chain_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 1, shape_dims, SHAPE_DIMS, expect_scores);
}

static void expect_scores_of_panels(struct product *p, struct test_rng *rng) {
    product_pack_rows(p);
    expect_scores(p, rng);
}

static void takes_row_panels_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 6, shape_dims, SHAPE_DIMS, expect_scores_of_panels);
}

/* Keys 0 ... n-1 of the product as rows; the last one ends the memory. */
static struct headwise_columns lay_keys(const struct product *p, ptrdiff_t n, ptrdiff_t stride) {
    size_t size = n > 0 ? (size_t)((n - 1) * stride + p->k) : 0;
    float *keys = guard_floats(size);
    for (size_t i = 0; i < size; i++)
        keys[i] = NAN;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t t = 0; t < p->k; t++)
            keys[j * stride + t] = p->b[product_b_at(p, t, j)];
    return (struct headwise_columns){.data = keys, .row_stride = stride};
}

/* Any number of the keys gives the bits of panels; what is beyond them, up to a whole vector, has
 * no meaning, and more is not touched. */
static void expect_scores_in_place(struct product *p, struct test_rng *rng) {
    float *panels = guard_floats((size_t)(p->m * p->n));
    ptrdiff_t n = p->n - test_rng_below(rng, p->n), least = p->kernels->nr_min;
    struct headwise_columns keys = lay_keys(p, n, p->k + test_rng_below(rng, 20));
    p->kernels->scores[HEADWISE_F32](panels, p->n, p->a, p->a_stride, 1, &p->columns, p->m, p->n,
                                     p->k, scale);
    p->kernels->scores_in_place(p->c, p->c_stride, p->a, p->a_stride, 1, &keys, p->m, n, p->k,
                                scale);
    for (ptrdiff_t i = 0; i < p->m; i++) {
        ptrdiff_t end = (n + least - 1) / least * least;
        compare_same_bits(p->c + i * p->c_stride, panels + i * p->n, (size_t)n,
                          "m %td n %td k %td, row %td", p->m, n, p->k, i);
        guard_expect_untouched(p->c + i * p->c_stride + end, (size_t)(p->n - end) * sizeof(float),
                               "beyond the keys");
    }
}

static void reads_keys_in_place_on_the_grid(enum headwise_isa isa) {
    product_for_grid(tier_kernels(isa), 7, shape_dims, SHAPE_DIMS, expect_scores_in_place);
}

/* Row i, columns j ... of a large product, computed alone in the narrowest panel. */
static void rows_and_panels_do_not_matter(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(2);
    struct product p = product_make(&rng, kernels, 2 * kernels->mr + 1, kernels->nr, 37, 0);
    int width = kernels->nr_min;
    call(&p, scale);
    for (ptrdiff_t j = 0; j < p.n; j += width) {
        float *narrow = guard_floats((size_t)(p.k * width));
        const struct headwise_columns columns = {.data = narrow, .row_stride = width};
        for (ptrdiff_t t = 0; t < p.k; t++)
            memcpy(narrow + t * width, p.b + t * p.n + j, (size_t)width * sizeof(float));
        for (ptrdiff_t i = 0; i < p.m; i++) {
            float *alone = guard_floats((size_t)width);
            kernels->scores[HEADWISE_F32](alone, width, p.a + i * p.a_stride, p.a_stride, 1,
                                          &columns, 1, width, p.k, scale);
            compare_same_bits(alone, p.c + i * p.c_stride + j, (size_t)width, "row %td panel %td",
                              i, j);
        }
    }
}

static void nan_and_infinity_stay_in_their_row_and_column(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(3);
    struct product p = product_make(&rng, kernels, kernels->mr + 1, kernels->nr, 9, 0);
    p.a[2 * p.a_stride + 4] = NAN;
    p.b[3 * p.n + 1] = NAN;
    p.b[3 * p.n + p.n - 1] = INFINITY;
    call(&p, scale);
    for (ptrdiff_t i = 0; i < p.m; i++)
        for (ptrdiff_t j = 0; j < p.n; j++) {
            float got = p.c[i * p.c_stride + j];
            float want = scale * product_chain(&p, i, j, 0);
            assert_int_equal(isnan(want) != 0, i == 2 || j == 1);
            assert_int_equal(isinf(want) != 0, j == p.n - 1 && i != 2);
            compare_same_bits(&got, &want, 1, "element %td %td", i, j);
        }
}

static void scale_is_used_as_given(enum headwise_isa isa) {
    const float scales[] = {0, -0.0f, 1, -2.5f, 0x1p-130f, 0x1p100f};
    struct test_rng rng = test_rng_make(4);
    struct product p = product_make(&rng, tier_kernels(isa), 3, tier_kernels(isa)->nr, 5, 4);
    for (size_t s = 0; s < TEST_COUNT(scales); s++) {
        call(&p, scales[s]);
        for (ptrdiff_t i = 0; i < p.m; i++)
            for (ptrdiff_t j = 0; j < p.n; j++) {
                float want = scales[s] * product_chain(&p, i, j, 0);
                compare_same_bits(&p.c[i * p.c_stride + j], &want, 1, "scale %g",
                                  (double)scales[s]);
            }
    }
}

static void empty_sizes(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(5);
    struct product no_rows = product_make(&rng, kernels, 0, kernels->nr, 7, 0);
    call(&no_rows, scale); /* c is empty: a write faults */
    struct product no_terms = product_make(&rng, kernels, 3, kernels->nr, 0, 0);
    call(&no_terms, scale);
    for (ptrdiff_t i = 0; i < no_terms.m; i++)
        for (int j = 0; j < no_terms.n; j++)
            assert_true(no_terms.c[i * no_terms.c_stride + j] == 0);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(follows_the_chain_on_the_grid),
        TEST_CASE(takes_row_panels_on_the_grid),
        TEST_CASE(reads_keys_in_place_on_the_grid),
        TEST_CASE(rows_and_panels_do_not_matter),
        TEST_CASE(nan_and_infinity_stay_in_their_row_and_column),
        TEST_CASE(scale_is_used_as_given),
        TEST_CASE(empty_sizes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
