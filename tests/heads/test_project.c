/* Queries, keys and values as a layer's attention sees them. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "runner.h"

static struct headwise_mha_config make_config(struct test_rng *rng) {
    struct headwise_mha_config config = {.d_model = 20,
                                         .d_memory = 27,
                                         .n_heads = 6,
                                         .n_kv_heads = 2,
                                         .head_dim = 7,
                                         .value_dim = 5};
    layer_fill_weights(rng, &config, true);
    return config;
}

/* x W + b with a chain of roundings of the length of x, and one for the bias. */
static void expect_product(const struct headwise_tensor *got, const struct headwise_tensor *x,
                           const float *w, const float *bias, const char *what) {
    int64_t inputs = x->size[3], dim = got->size[3];
    for (int64_t b = 0; b < got->size[0]; b++)
        for (int64_t h = 0; h < got->size[1]; h++)
            for (int64_t i = 0; i < got->size[2]; i++)
                for (int64_t c = 0; c < dim; c++) {
                    int64_t out = h * dim + c;
                    double sum = (double)bias[out], magnitude = fabs(sum);
                    for (int64_t t = 0; t < inputs; t++) {
                        double term =
                            (double)w[out * inputs + t] *
                            half_load(x->dtype, x->data, (b * x->size[2] + i) * inputs + t);
                        sum += term;
                        magnitude += fabs(term);
                    }
                    int64_t at = b * got->stride[0] + h * got->stride[1] + i * got->stride[2] + c;
                    compare_expect((double)((float *)got->data)[at], sum,
                                   bound_gamma((double)inputs + 1) * magnitude, "%s %d %d %d", what,
                                   (int)h, (int)i, (int)c);
                }
}

/* The products themselves, of x and of a memory, to views of both forms. */
static void projections_match_float64(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(381);
    struct headwise_mha_config config = make_config(&rng);
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 2, 9, 31, HEADWISE_F16);
    struct headwise_tensor q =
        headwise_tensor_brhc(guard_floats(2 * 9 * 42), HEADWISE_F32, 2, 9, 6, 7);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 2, 2, 31, 7, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 2, 2, 31, 5, NULL);
    const struct headwise_attention_call projected = {
        .size = sizeof projected, .q = &q, .k = &k, .v = &v, .x = &call.x, .memory = &call.memory};
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    expect_product(&q, &call.x, config.w_q, config.b_q, "q");
    expect_product(&k, &call.memory, config.w_k, config.b_k, "k");
    expect_product(&v, &call.memory, config.w_v, config.b_v, "v");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* More inputs than are packed at once, of more rows than are read in place. */
static void many_inputs_match_float64(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(386);
    struct headwise_mha_config config = {
        .d_model = 1500, .n_heads = 2, .head_dim = 5, .value_dim = 9};
    layer_fill_weights(&rng, &config, true);
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 1, 70, -1, HEADWISE_F32);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, 2, 70, 5, NULL);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 2, 70, 5, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, 2, 70, 9, NULL);
    const struct headwise_attention_call projected = {
        .size = sizeof projected, .q = &q, .k = &k, .v = &v, .x = &call.x};
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    expect_product(&q, &call.x, config.w_q, config.b_q, "q");
    expect_product(&k, &call.x, config.w_k, config.b_k, "k");
    expect_product(&v, &call.x, config.w_v, config.b_v, "v");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* The operator on what was projected gives the layer's own head outputs. */
static void attention_goes_on_from_there(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(382);
    struct headwise_mha_config config = make_config(&rng);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 2, 40, 300, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call.probe = (struct headwise_probe){.size = sizeof call.probe,
                                         .head_outputs = guard_floats(2 * 6 * 40 * 5)};
    layer_run_with(context, mha, &call);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 2, 6, 40, 7, NULL);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 2, 2, 300, 7, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 2, 2, 300, 5, NULL);
    struct headwise_tensor y = call_tensor(HEADWISE_F32, 2, 6, 40, 5, NULL);
    struct headwise_attention_call projected = {.size = sizeof projected,
                                                .q = &q,
                                                .k = &k,
                                                .v = &v,
                                                .x = &call.x,
                                                .memory = &call.memory,
                                                .options = &call.options};
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    projected.x = projected.memory = NULL;
    projected.y = &y;
    assert_int_equal(headwise_attention(context, &projected), HEADWISE_OK);
    compare_same_bits(y.data, call.probe.head_outputs, 2 * 6 * 40 * 5, "head outputs");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Queries and keys are normalized and turned first, at positions that the caller gives. */
static void norms_and_positions_come_first(enum headwise_isa isa) {
    const struct headwise_rotary_config form = {
        .size = sizeof form, .rotary_dim = 4, .n_positions = 50};
    struct test_rng rng = test_rng_make(385);
    struct headwise_mha_config config = {
        .d_model = 20, .n_heads = 4, .n_kv_heads = 2, .head_dim = 6};
    float *norm = guard_floats(6);
    int64_t positions[2 * 9];
    headwise_rotary *rotary = NULL;
    headwise_context *context = call_context(isa, 2);
    layer_fill_weights(&rng, &config, true);
    test_rng_fill(&rng, norm, 6, 1);
    for (int i = 0; i < 2 * 9; i++)
        positions[i] = test_rng_below(&rng, 50);
    assert_int_equal(headwise_rotary_create(&rotary, context, &form), HEADWISE_OK);
    config.rotary = rotary;
    config.q_norm = config.k_norm = norm;
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 2, 9, -1, HEADWISE_F32);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 2, 4, 9, 6, NULL), y = q;
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 2, 2, 9, 6, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 2, 2, 9, 6, NULL);
    y.data = guard_floats(2 * 4 * 9 * 6);
    struct headwise_attention_call projected = {.size = sizeof projected,
                                                .q = &q,
                                                .k = &k,
                                                .v = &v,
                                                .x = &call.x,
                                                .options = &call.options};
    const struct headwise_attention_call attended = {
        .size = sizeof attended, .y = &y, .q = &q, .k = &k, .v = &v};
    for (int given = 0; given < 2; given++) {
        call.given.positions = projected.positions = given ? positions : NULL;
        call.probe = (struct headwise_probe){.size = sizeof call.probe,
                                             .head_outputs = guard_floats(2 * 4 * 9 * 6)};
        layer_run_with(context, mha, &call);
        assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
        assert_int_equal(headwise_attention(context, &attended), HEADWISE_OK);
        compare_same_bits(y.data, call.probe.head_outputs, 2 * 4 * 9 * 6, "positions %d", given);
    }
    positions[17] = 50; /* beyond the table */
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_ERR_INVALID);
    projected.positions = NULL;
    projected.memory = &call.x;
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_ERR_INVALID);
    headwise_mha_destroy(mha);
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
}

/* Each output alone, and of a narrow type, is what it is among all of them, rounded once. */
static void each_output_alone(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(383);
    struct headwise_mha_config config = make_config(&rng);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 1, 11, 12, HEADWISE_F32);
    struct headwise_tensor all[3] = {call_tensor(HEADWISE_F32, 1, 6, 11, 7, NULL),
                                     call_tensor(HEADWISE_F32, 1, 2, 12, 7, NULL),
                                     call_tensor(HEADWISE_F32, 1, 2, 12, 5, NULL)};
    struct headwise_attention_call projected = {.size = sizeof projected,
                                                .q = &all[0],
                                                .k = &all[1],
                                                .v = &all[2],
                                                .x = &call.x,
                                                .memory = &call.memory};
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    for (int which = 0; which < 3; which++) {
        struct headwise_tensor one = all[which];
        int64_t n = one.size[1] * one.size[2] * one.size[3];
        one = call_tensor(HEADWISE_BF16, 1, one.size[1], one.size[2], one.size[3], NULL);
        projected.q = which == 0 ? &one : NULL;
        projected.k = which == 1 ? &one : NULL;
        projected.v = which == 2 ? &one : NULL;
        assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(
                ((uint16_t *)one.data)[i],
                half_from_double(HEADWISE_BF16, (double)((float *)all[which].data)[i]));
        guard_check();
    }
    /* Without keys a memory is not needed, though d_memory is not d_model. */
    projected.q = &all[0];
    projected.k = projected.v = projected.memory = NULL;
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    projected.q = NULL;
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

static void wrong_arguments_are_refused(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(384);
    struct headwise_mha_config config = make_config(&rng);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 1, 4, 5, HEADWISE_F32);
    const struct headwise_tensor *x = &call.x, *m = &call.memory;
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, 6, 4, 7, NULL), heads = q,
                           broadcast = q;
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 2, 5, 7, NULL);
    struct headwise_tensor rows = call_tensor(HEADWISE_F32, 1, 2, 4, 7, NULL);
    struct headwise_attention_options options = {.size = sizeof options, .softcap = -1};
    heads.size[1] = 5;
    broadcast.stride[1] = 0;
    const struct headwise_attention_call right = {
        .size = sizeof right, .q = &q, .x = x, .memory = m};
    const struct headwise_attention_call wrong[] = {
        {.size = sizeof right, .q = &q, .memory = m},
        {.size = sizeof right, .q = &q, .k = &k, .x = x},
        {.size = sizeof right, .q = &heads, .x = x, .memory = m},
        {.size = sizeof right, .q = &broadcast, .x = x, .memory = m},
        {.size = sizeof right, .q = &q, .k = &rows, .x = x, .memory = m},
        {.size = sizeof right, .q = &q, .k = &k, .x = x, .memory = m, .options = &options},
    };
    assert_int_equal(headwise_mha_project(NULL, mha, &right), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_mha_project(context, NULL, &right), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_mha_project(context, mha, NULL), HEADWISE_ERR_INVALID);
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_int_equal(headwise_mha_project(context, mha, wrong + i), HEADWISE_ERR_INVALID);
    guard_expect_untouched(q.data, 6 * 4 * 7 * sizeof(float), "q");
    guard_expect_untouched(k.data, 2 * 5 * 7 * sizeof(float), "k");
    assert_int_equal(headwise_mha_project(context, mha, &right), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* What is projected are the rows of a batch, to tensors. */
static void caches_and_starts_are_refused(enum headwise_isa isa) {
    static const int32_t starts[] = {0, 4};
    const struct headwise_cache_config form = {.size = sizeof form,
                                               .n_sequences = 1,
                                               .n_kv_heads = 2,
                                               .head_dim = 7,
                                               .value_dim = 5,
                                               .capacity = 5};
    struct test_rng rng = test_rng_make(387);
    struct headwise_mha_config config = make_config(&rng);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = NULL;
    assert_int_equal(headwise_cache_create(&cache, context, &form), HEADWISE_OK);
    struct layer_call call = layer_call_make(&rng, &config, 1, 4, 4, HEADWISE_F32);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, 6, 4, 7, NULL);
    struct headwise_attention_call projected = {
        .size = sizeof projected, .q = &q, .x = &call.x, .memory = &call.memory, .cache = cache};
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "mha_project: cache is given, expected NULL"));
    projected.cache = NULL;
    projected.n_sequences = 1;
    projected.query_starts = starts;
    assert_int_equal(headwise_mha_project(context, mha, &projected), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "mha_project: sequences are given by"));
    guard_expect_untouched(q.data, 6 * 4 * 7 * sizeof(float), "q");
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(projections_match_float64),
        TEST_CASE(many_inputs_match_float64),
        TEST_CASE(attention_goes_on_from_there),
        TEST_CASE(norms_and_positions_come_first),
        TEST_CASE(each_output_alone),
        TEST_CASE(wrong_arguments_are_refused),
        TEST_CASE(caches_and_starts_are_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
