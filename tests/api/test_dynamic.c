/* Layers that round what they multiply to integers: exact sums, the bounds of rounding. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "rounded.h"
#include "runner.h"

/* Rows of x times W_Q in integers, from the text of mha.h. */
static void expect_queries(enum headwise_isa isa, const headwise_mha *mha,
                           const struct headwise_mha_config *config,
                           const struct headwise_tensor *x, const struct headwise_tensor *q) {
    int64_t n_in = config->d_model, n_out = q->size[1] * q->size[3], rows = x->size[2];
    float *w = guard_floats((size_t)(n_in * n_out)), *scales = guard_floats((size_t)n_out);
    assert_int_equal(headwise_mha_weights(mha, w, NULL, NULL, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                     HEADWISE_OK);
    assert_int_equal(headwise_mha_weights(mha, NULL, NULL, scales, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                     HEADWISE_OK);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = (const float *)x->data + r * n_in;
        const struct rounded_row rounded = rounded_make(isa, row, n_in);
        for (int64_t j = 0; j < n_out; j++) {
            int64_t sum = 0;
            for (int64_t t = 0; t < n_in; t++)
                sum += rounded_integer(&rounded, row[t]) *
                       llrint((double)w[j * n_in + t] / (double)scales[j]);
            float want = rounded_output(&rounded, sum, scales[j], config->b_q[j]);
            int64_t dim = q->size[3];
            const float *got =
                (const float *)q->data + j / dim * q->stride[1] + r * q->stride[2] + j % dim;
            compare_same_bits(got, &want, 1, "%lld rows, row %lld output %lld", (long long)rows,
                              (long long)r, (long long)j);
        }
    }
}

static struct headwise_mha_config dynamic_config(struct test_rng *rng, int64_t d_model,
                                                 int64_t n_heads, int64_t head_dim) {
    struct headwise_mha_config config = {.d_model = d_model,
                                         .n_heads = n_heads,
                                         .head_dim = head_dim,
                                         .d_out = 21,
                                         .packed_dtype = HEADWISE_I8,
                                         .dynamic_int8 = true};
    layer_fill_weights(rng, &config, true);
    return config;
}

/* Few rows and many, one pass over the inputs and several, threads' rows apart. */
static void queries_are_sums_of_integers(enum headwise_isa isa) {
    const int64_t widths[] = {1, 3, 48, 300, 2500}, rows[] = {1, 7, 8, 13, 25, 61, 300};
    struct test_rng rng = test_rng_make(971);
    for (size_t w = 0; w < TEST_COUNT(widths); w++)
        for (size_t r = 0; r < TEST_COUNT(rows); r++) {
            struct headwise_mha_config config = dynamic_config(&rng, widths[w], 3, 7);
            headwise_context *context = call_context(isa, 2);
            headwise_mha *mha = layer_create(context, &config);
            assert_true(headwise_mha_describe(mha)->dynamic_int8);
            struct headwise_tensor x = call_tensor(HEADWISE_F32, 1, 1, rows[r], widths[w], NULL);
            struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, 3, rows[r], 7, NULL);
            call_fill(&rng, &x, 3);
            const struct headwise_attention_call call = {.size = sizeof(call), .q = &q, .x = &x};
            assert_int_equal(headwise_mha_project(context, mha, &call), HEADWISE_OK);
            expect_queries(isa, mha, &config, &x, &q);
            headwise_mha_destroy(mha);
            headwise_context_destroy(context);
            guard_reset();
        }
}

/* The weights that the layer keeps, as an f32 config for the oracle. */
static struct headwise_mha_config kept_config(const headwise_mha *mha,
                                              const struct headwise_mha_config *config) {
    struct headwise_mha_config kept = *config;
    const void **weights[] = {&kept.w_q, &kept.w_k, &kept.w_v, &kept.w_o};
    int64_t width = config->n_heads * config->head_dim;
    for (int part = 0; part < 4; part++) {
        float *w = guard_floats((size_t)(width * (part < 3 ? config->d_model : config->d_out)));
        assert_int_equal(
            headwise_mha_weights(mha, w, NULL, NULL, (enum headwise_mha_part)part, config->layout),
            HEADWISE_OK);
        *weights[part] = w;
    }
    kept.weight_dtype = HEADWISE_F32;
    return kept;
}

static void within_the_bound_of_rounding(enum headwise_isa isa) {
    const int64_t rows[] = {1, 6, 9, 30};
    struct test_rng rng = test_rng_make(972);
    for (size_t r = 0; r < TEST_COUNT(rows); r++) {
        struct headwise_mha_config config = dynamic_config(&rng, 40, 4, 24);
        config.dynamic_group = r % 2 * 64; /* of the 96 inputs of w_o */
        headwise_context *context = call_context(isa, 1);
        headwise_mha *mha = layer_create(context, &config);
        struct headwise_mha_config kept = kept_config(mha, &config);
        struct layer_call call = layer_call_make(&rng, &config, 2, rows[r], -1, HEADWISE_F32);
        layer_call_probe(&call, HEADWISE_SCORES_SCALED);
        layer_run_with(context, mha, &call);
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        oracle_expect(layer_oracle(&kept, &call), &call.y, &call.probe);
        guard_reset();
    }
}

/* Contributions are of the integers that y is made of: they sum to it up to f32's rounding. No head
 * lies in several groups, whose terms may be larger than their sum. */
static void contributions_sum_to_y(enum headwise_isa isa) {
    const int64_t dims[] = {5, 64, 300, 5, 64}, groups[] = {0, 0, 0, 64, 64};
    struct test_rng rng = test_rng_make(973);
    for (size_t i = 0; i < TEST_COUNT(dims); i++) {
        enum { HEADS = 3, ROWS = 70, OUT = 21 };
        struct headwise_mha_config config = dynamic_config(&rng, 32, HEADS, dims[i]);
        config.dynamic_group = groups[i];
        headwise_context *context = call_context(isa, 2);
        headwise_mha *mha = layer_create(context, &config);
        struct layer_call call = layer_call_make(&rng, &config, 1, ROWS, -1, HEADWISE_F32);
        layer_call_probe(&call, HEADWISE_SCORES_SCALED);
        layer_run_with(context, mha, &call);
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < OUT; j++) {
                double sum = (double)config.b_o[j], size = fabs(sum);
                for (int h = 0; h < HEADS; h++) {
                    double part = (double)call.probe.contributions[(h * ROWS + r) * OUT + j];
                    sum += part;
                    size += fabs(part);
                }
                /* three roundings of each part and of y, one for the bias, and one more for each of
                 * three groups */
                compare_expect((double)((float *)call.y.data)[r * OUT + j], sum,
                               bound_gamma(groups[i] ? 10 : 7) * size, "dim %lld row %d output %d",
                               (long long)dims[i], r, j);
            }
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        guard_reset();
    }
}

static void rows_do_not_matter(enum headwise_isa isa) {
    enum { ROWS = 60 };
    struct test_rng rng = test_rng_make(974);
    struct headwise_mha_config config = dynamic_config(&rng, 300, 4, 20);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call all = layer_call_make(&rng, &config, ROWS, 1, -1, HEADWISE_F32);
    layer_run_with(context, mha, &all);
    for (int r = 0; r < ROWS; r++) {
        struct layer_call one = all;
        one.x = call_tensor(HEADWISE_F32, 1, 1, 1, 300, (float *)all.x.data + r * 300);
        one.y = call_tensor(HEADWISE_F32, 1, 1, 1, 21, NULL);
        layer_run_with(context, mha, &one);
        compare_same_bits(one.y.data, (float *)all.y.data + r * 21, 21, "row %d", r);
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* A row that is not finite gives NaN in itself; rows of zeros and of tiny numbers give numbers. */
static void unusual_rows(enum headwise_isa isa) {
    const float components[] = {NAN, INFINITY, 0, 0x1p-149f, 0x1p127f};
    struct test_rng rng = test_rng_make(975);
    for (int64_t rows = 5; rows <= 40; rows += 35) {
        struct headwise_mha_config config = dynamic_config(&rng, 16, 2, 8);
        headwise_context *context = call_context(isa, 1);
        headwise_mha *mha = layer_create(context, &config);
        struct headwise_tensor x = call_tensor(HEADWISE_F32, 1, 1, rows, 16, NULL);
        struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, 2, rows, 8, NULL);
        memset(x.data, 0, (size_t)(rows * 16) * sizeof(float));
        for (int r = 0; r < 5; r++)
            ((float *)x.data)[r * 16 + 3] = components[r];
        const struct headwise_attention_call call = {.size = sizeof(call), .q = &q, .x = &x};
        assert_int_equal(headwise_mha_project(context, mha, &call), HEADWISE_OK);
        for (int64_t r = 0; r < rows; r++)
            for (int j = 0; j < 16; j++) {
                float got = ((float *)q.data)[(j / 8 * rows + r) * 8 + j % 8];
                if (r < 2)
                    assert_true(isnan(got));
                else if (r == 4)
                    assert_true(isfinite(got) && fabsf(got) > 0x1p110f);
                else
                    assert_true(fabsf(got - config.b_q[j]) < 0x1p-120f);
            }
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        guard_reset();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(queries_are_sums_of_integers),
        TEST_CASE(within_the_bound_of_rounding),
        TEST_CASE(contributions_sum_to_y),
        TEST_CASE(rows_do_not_matter),
        TEST_CASE(unusual_rows),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
