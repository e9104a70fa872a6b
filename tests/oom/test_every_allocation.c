/* The n-th allocation fails, for every n: a status, outputs untouched, nothing lost, and the same
 * call passes once memory is there. */
#include <string.h>

#include "call.h"
#include "compare.h"
#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { MOST_ALLOCATIONS = 100 };

struct scene {
    struct headwise_mha_config config;
    struct call operator_call;
    struct layer_call layer_call;
};

static void make_scene(struct scene *scene, enum headwise_dtype packed_dtype) {
    const struct call_shape shape = {2, 4, 2, 20, 600, 9, 17};
    struct test_rng rng = test_rng_make(221);
    scene->config = (struct headwise_mha_config){.d_model = 36,
                                                 .n_heads = 4,
                                                 .n_kv_heads = 2,
                                                 .weight_dtype = HEADWISE_F16,
                                                 .packed_dtype = packed_dtype};
    layer_fill_weights(&rng, &scene->config, true);
    scene->config.q_norm = scene->config.k_norm = scene->config.b_q; /* 9 of its 36 floats */
    scene->config.q_norm_bias = scene->config.k_norm_bias = scene->config.b_q;
    scene->operator_call = call_make(&rng, &shape, HEADWISE_F16, 0);
    call_probe(&scene->operator_call, CALL_ALL, HEADWISE_SCORES_SCALED);
    scene->layer_call = layer_call_make(&rng, &scene->config, 2, 300, -1, HEADWISE_F16);
    layer_call_probe(&scene->layer_call, HEADWISE_SCORES_MASKED);
}

static void expect_call_untouched(const struct scene *scene) {
    const struct call *c = &scene->operator_call;
    guard_expect_untouched(c->y.data, (size_t)2 * 4 * 20 * 17 * 2, "y");
    guard_expect_untouched(c->probe.weights, (size_t)2 * 4 * 20 * 600 * 4, "weights");
    guard_expect_untouched(c->probe.lse, (size_t)2 * 4 * 20 * 4, "lse");
}

static void expect_layer_untouched(const struct scene *scene) {
    const struct layer_call *c = &scene->layer_call;
    guard_expect_untouched(c->y.data, (size_t)2 * 300 * 36 * 2, "y");
    guard_expect_untouched(c->probe.contributions, (size_t)2 * 4 * 300 * 36 * 4, "contributions");
    guard_expect_untouched(c->probe.weights, (size_t)2 * 4 * 300 * 300 * 4, "weights");
}

static enum headwise_status attention(headwise_context *context, struct scene *scene) {
    return call_try(context, &scene->operator_call);
}

static enum headwise_status forward(headwise_context *context, const headwise_mha *mha,
                                    struct scene *scene) {
    return layer_try(context, mha, &scene->layer_call);
}

/* Runs until something fails. Returns whether everything passed; checks what a failure left. */
static bool run_with_failure_at(struct counting *counting, struct scene *scene,
                                enum headwise_isa isa) {
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(counting)};
    enum headwise_status status = headwise_context_create(&context, &options);
    if (status == HEADWISE_OK) {
        size_t scratch = headwise_context_describe(context)->scratch_bytes;
        status = attention(context, scene);
        if (status != HEADWISE_OK) {
            expect_call_untouched(scene);
            assert_int_equal(headwise_context_describe(context)->scratch_bytes, scratch);
        }
    }
    if (status == HEADWISE_OK) {
        status = headwise_mha_create(&mha, context, &scene->config);
        assert_int_equal(mha != NULL, status == HEADWISE_OK);
    }
    if (status == HEADWISE_OK) {
        status = forward(context, mha, scene);
        if (status != HEADWISE_OK)
            expect_layer_untouched(scene);
    }
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(strlen(headwise_last_error()) > 0);
    }
    if (status != HEADWISE_OK && mha != NULL) { /* memory is back: the object was not harmed */
        counting->fail_at = INT64_MAX;
        assert_int_equal(forward(context, mha, scene), HEADWISE_OK);
        counting->n_refused = 1;
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    counting_expect_balanced(counting);
    guard_check();
    return status == HEADWISE_OK;
}

static void fail_each(enum headwise_isa isa, enum headwise_dtype packed_dtype) {
    int64_t n_failures = 0;
    for (int64_t n = 0; n < MOST_ALLOCATIONS; n++) {
        struct counting counting = {.fail_at = n};
        struct scene scene;
        make_scene(&scene, packed_dtype);
        bool passed = run_with_failure_at(&counting, &scene, isa);
        guard_reset();
        if (passed) {
            print_message("%d allocations, each failed in turn\n", (int)n_failures);
            assert_true(n_failures >= 4); /* context, scratch, layer, its scratch at least */
            return;
        }
        assert_true(counting.n_refused > 0);
        n_failures++;
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

static void any_allocation_may_fail(enum headwise_isa isa) {
    fail_each(isa, HEADWISE_F32);
}

static void any_allocation_of_an_i8_layer_may_fail(enum headwise_isa isa) {
    fail_each(isa, HEADWISE_I8);
}

/* Sizes that no memory can hold are refused before anything is written. */
static void impossible_sizes_give_a_status(enum headwise_isa isa) {
    float one[16] = {0}, y[16] = {7};
    headwise_context *context = call_context(isa, 1);
    struct headwise_probe probe = {.size = sizeof(probe)};
    const int64_t huge = INT64_C(1) << 40;
    /* A key that all of 2^40 rows share: legal, and mean_weights needs scratch for each of them. */
    struct headwise_tensor q = headwise_tensor_bhrc(one, HEADWISE_F32, 1, 1, 1, 8);
    struct headwise_tensor k = headwise_tensor_bhrc(one, HEADWISE_F32, 1, 1, huge, 8), v = k;
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, 1, 8);
    k.stride[2] = v.stride[2] = 0;
    probe.mean_weights = y + 8;
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &out, .q = &q, .k = &k, .v = &v, .probe = &probe};
    enum headwise_status status = headwise_attention(context, &call);
    assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
    assert_true(y[0] == 7);
    assert_int_equal(headwise_context_reserve(context, SIZE_MAX / 2), HEADWISE_ERR_NO_MEMORY);
    assert_int_equal(headwise_context_reserve(context, SIZE_MAX), HEADWISE_ERR_NO_MEMORY);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, 0);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_allocation_may_fail),
        TEST_CASE(any_allocation_of_an_i8_layer_may_fail),
        TEST_CASE(impossible_sizes_give_a_status),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
