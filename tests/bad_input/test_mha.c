/* The layer's functions with one argument wrong at a time. */
#include <math.h>
#include <string.h>

#include "guard.h"
#include "layer.h"
#include "runner.h"

#define SPOIL(function)                                                                            \
    { #function, function }

typedef void spoil_config_fn(struct headwise_mha_config *c);

static void no_model_width(struct headwise_mha_config *c) {
    c->d_model = 0;
}
static void negative_model_width(struct headwise_mha_config *c) {
    c->d_model = -24;
}
static void no_heads(struct headwise_mha_config *c) {
    c->n_heads = 0;
}
static void negative_heads(struct headwise_mha_config *c) {
    c->n_heads = -4;
}
static void heads_do_not_divide_width(struct headwise_mha_config *c) {
    c->n_heads = 5, c->n_kv_heads = 5;
}
static void kv_heads_do_not_divide(struct headwise_mha_config *c) {
    c->n_kv_heads = 3;
}
static void more_kv_heads_than_heads(struct headwise_mha_config *c) {
    c->n_kv_heads = 8;
}
static void negative_kv_heads(struct headwise_mha_config *c) {
    c->n_kv_heads = -2;
}
static void negative_head_size(struct headwise_mha_config *c) {
    c->head_dim = -6;
}
static void negative_value_size(struct headwise_mha_config *c) {
    c->value_dim = -1;
}
static void negative_memory_width(struct headwise_mha_config *c) {
    c->d_memory = -1;
}
static void negative_out_width(struct headwise_mha_config *c) {
    c->d_out = INT64_MIN;
}
static void width_overflows(struct headwise_mha_config *c) {
    c->d_model = INT64_MAX / 4 * 4;
}
static void head_size_overflows(struct headwise_mha_config *c) {
    c->head_dim = INT64_MAX / 2;
}
static void value_size_overflows(struct headwise_mha_config *c) {
    c->value_dim = INT64_MAX;
}
static void heads_overflow(struct headwise_mha_config *c) {
    c->n_heads = INT64_MAX, c->n_kv_heads = 1, c->head_dim = 4;
}
static void out_overflows(struct headwise_mha_config *c) {
    c->d_out = INT64_MAX;
}
static void unknown_layout(struct headwise_mha_config *c) {
    c->layout = (enum headwise_layout)2;
}
static void negative_layout(struct headwise_mha_config *c) {
    c->layout = (enum headwise_layout) - 1;
}
static void bool_weights(struct headwise_mha_config *c) {
    c->weight_dtype = HEADWISE_BOOL;
}
static void i8_weights(struct headwise_mha_config *c) {
    c->weight_dtype = HEADWISE_I8;
}
static void unknown_weights(struct headwise_mha_config *c) {
    c->weight_dtype = (enum headwise_dtype)42;
}
static void no_w_q(struct headwise_mha_config *c) {
    c->w_q = NULL;
}
static void no_w_k(struct headwise_mha_config *c) {
    c->w_k = NULL;
}
static void no_w_v(struct headwise_mha_config *c) {
    c->w_v = NULL;
}
static void no_w_o(struct headwise_mha_config *c) {
    c->w_o = NULL;
}
static void config_size_zero(struct headwise_mha_config *c) {
    c->size = 0;
}
static void config_size_of_no_version(struct headwise_mha_config *c) {
    c->size -= 1;
}

static const struct {
    const char *name;
    spoil_config_fn *spoil;
} config_spoils[] = {
    SPOIL(no_model_width),
    SPOIL(negative_model_width),
    SPOIL(no_heads),
    SPOIL(negative_heads),
    SPOIL(heads_do_not_divide_width),
    SPOIL(kv_heads_do_not_divide),
    SPOIL(more_kv_heads_than_heads),
    SPOIL(negative_kv_heads),
    SPOIL(negative_head_size),
    SPOIL(negative_value_size),
    SPOIL(negative_memory_width),
    SPOIL(negative_out_width),
    SPOIL(width_overflows),
    SPOIL(head_size_overflows),
    SPOIL(value_size_overflows),
    SPOIL(heads_overflow),
    SPOIL(out_overflows),
    SPOIL(unknown_layout),
    SPOIL(negative_layout),
    SPOIL(bool_weights),
    SPOIL(i8_weights),
    SPOIL(unknown_weights),
    SPOIL(no_w_q),
    SPOIL(no_w_k),
    SPOIL(no_w_v),
    SPOIL(no_w_o),
    SPOIL(config_size_zero),
    SPOIL(config_size_of_no_version),
};

static struct headwise_mha_config valid_config(void) {
    struct test_rng rng = test_rng_make(211);
    struct headwise_mha_config config = {
        .d_model = 24, .d_memory = 16, .d_out = 12, .n_heads = 4, .n_kv_heads = 2};
    layer_fill_weights(&rng, &config, true);
    return config;
}

static void expect_text(const char *begin, const char *name) {
    const char *text = headwise_last_error();
    if (strncmp(text, begin, strlen(begin)) != 0 || strchr(text, '\n') != NULL)
        fail_msg("%s: error text \"%s\"", name, text);
}

static void wrong_configurations_are_refused(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    headwise_mha *const unchanged = (headwise_mha *)&context;
    struct headwise_mha_config valid = valid_config();
    for (size_t i = 0; i < TEST_COUNT(config_spoils); i++) {
        headwise_mha *mha = unchanged;
        struct headwise_mha_config config = valid;
        config_spoils[i].spoil(&config);
        enum headwise_status status = headwise_mha_create(&mha, context, &config);
        if (status != HEADWISE_ERR_INVALID)
            fail_msg("%s: status %s", config_spoils[i].name, headwise_status_name(status));
        assert_ptr_equal(mha, unchanged);
        expect_text("mha: ", config_spoils[i].name);
    }
    headwise_mha *mha = unchanged;
    assert_int_equal(headwise_mha_create(NULL, context, &valid), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_mha_create(&mha, NULL, &valid), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_mha_create(&mha, context, NULL), HEADWISE_ERR_INVALID);
    assert_ptr_equal(mha, unchanged);
    headwise_context_destroy(context);
}

struct attempt {
    struct layer_call call;
    headwise_context *context;
    const headwise_mha *mha;
    struct headwise_attention_call arguments, *given;
    struct headwise_tensor past_key, past_value, mask;
    int64_t lengths[2];
};

typedef void spoil_fn(struct attempt *a);

static void null_context(struct attempt *a) {
    a->context = NULL;
}
static void null_layer(struct attempt *a) {
    a->mha = NULL;
}
static void null_y(struct attempt *a) {
    a->arguments.y = NULL;
}
static void null_x(struct attempt *a) {
    a->arguments.x = NULL;
}
static void null_call(struct attempt *a) {
    a->given = NULL;
}
static void call_size(struct attempt *a) {
    a->arguments.size += 8;
}
static void q_is_given(struct attempt *a) {
    a->arguments.q = &a->mask;
}
static void k_is_given(struct attempt *a) {
    a->arguments.k = &a->mask;
}
static void v_is_given(struct attempt *a) {
    a->arguments.v = &a->mask;
}
static void attend_without_a_cache(struct attempt *a) {
    a->arguments.attend_only = true;
}
static void n_sequences_alone(struct attempt *a) {
    a->arguments.n_sequences = 2;
}
static void null_memory(struct attempt *a) {
    a->arguments.memory = NULL;
} /* d_memory differs */
static void null_x_data(struct attempt *a) {
    a->call.x.data = NULL;
}
static void width_of_x(struct attempt *a) {
    a->call.x.size[3] = 23;
}
static void width_of_y(struct attempt *a) {
    a->call.y.size[3] = 24;
}
static void width_of_memory(struct attempt *a) {
    a->call.memory.size[3] = 24;
}
static void heads_of_x(struct attempt *a) {
    a->call.x.size[1] = 4;
}
static void heads_of_y(struct attempt *a) {
    a->call.y.size[1] = 0;
}
static void batch_of_y(struct attempt *a) {
    a->call.y.size[0] = 1;
}
static void batch_of_memory(struct attempt *a) {
    a->call.memory.size[0] = 1;
}
static void rows_of_y(struct attempt *a) {
    a->call.y.size[2] = 2;
}
static void type_of_x(struct attempt *a) {
    a->call.x.dtype = HEADWISE_BOOL;
}
static void type_of_y(struct attempt *a) {
    a->call.y.dtype = HEADWISE_I8;
}
static void type_of_memory(struct attempt *a) {
    a->call.memory.dtype = (enum headwise_dtype)9;
}
static void negative_rows(struct attempt *a) {
    a->call.x.size[2] = a->call.y.size[2] = -3;
}
static void column_stride(struct attempt *a) {
    a->call.x.stride[3] = 2;
}
static void broadcast_y(struct attempt *a) {
    a->call.y.stride[0] = 0;
}
static void f16_past(struct attempt *a) {
    a->past_key.dtype = HEADWISE_F16;
}
static void past_heads(struct attempt *a) {
    a->past_value.size[1] = 4;
}
static void past_alone(struct attempt *a) {
    a->arguments.past_value = NULL;
}
static void length_too_long(struct attempt *a) {
    a->lengths[1] = 9;
}
static void mask_rows(struct attempt *a) {
    a->mask.size[2] = 2;
}
static void nan_softcap(struct attempt *a) {
    a->call.options.softcap = NAN;
}
static void unknown_causal(struct attempt *a) {
    a->call.options.causal = (enum headwise_causal)8;
}
static void options_size(struct attempt *a) {
    a->call.options.size = 1;
}
static void probe_size(struct attempt *a) {
    a->call.probe.size = 7;
}
static void probe_stage(struct attempt *a) {
    a->call.probe.score_stage = (enum headwise_score_stage) - 1;
}

static const struct {
    const char *name;
    spoil_fn *spoil;
} forward_spoils[] = {
    SPOIL(null_context),
    SPOIL(null_layer),
    SPOIL(null_y),
    SPOIL(null_x),
    SPOIL(null_memory),
    SPOIL(null_x_data),
    SPOIL(width_of_x),
    SPOIL(width_of_y),
    SPOIL(width_of_memory),
    SPOIL(heads_of_x),
    SPOIL(heads_of_y),
    SPOIL(batch_of_y),
    SPOIL(batch_of_memory),
    SPOIL(rows_of_y),
    SPOIL(type_of_x),
    SPOIL(type_of_y),
    SPOIL(type_of_memory),
    SPOIL(negative_rows),
    SPOIL(column_stride),
    SPOIL(broadcast_y),
    SPOIL(f16_past),
    SPOIL(past_heads),
    SPOIL(past_alone),
    SPOIL(length_too_long),
    SPOIL(mask_rows),
    SPOIL(nan_softcap),
    SPOIL(unknown_causal),
    SPOIL(options_size),
    SPOIL(probe_size),
    SPOIL(probe_stage),
    SPOIL(null_call),
    SPOIL(call_size),
    SPOIL(q_is_given),
    SPOIL(k_is_given),
    SPOIL(v_is_given),
    SPOIL(attend_without_a_cache),
    SPOIL(n_sequences_alone),
};

static void make_attempt(struct attempt *a, headwise_context *context, const headwise_mha *mha,
                         const struct headwise_mha_config *config) {
    struct test_rng rng = test_rng_make(212);
    a->call = layer_call_make(&rng, config, 2, 3, 5, HEADWISE_F32);
    a->context = context;
    a->mha = mha;
    a->past_key = call_tensor(HEADWISE_F32, 2, 2, 3, 6, NULL);
    a->past_value = call_tensor(HEADWISE_F32, 2, 2, 3, 6, NULL);
    a->mask = call_tensor(HEADWISE_F32, 2, 4, 3, 8, NULL);
    call_fill(&rng, &a->past_key, 1);
    call_fill(&rng, &a->past_value, 1);
    call_fill(&rng, &a->mask, 1);
    a->lengths[0] = a->lengths[1] = 7;
    a->call.given.past_key = &a->past_key;
    a->call.given.past_value = &a->past_value;
    a->call.given.mask = &a->mask;
    a->call.given.key_lengths = a->lengths;
    layer_call_probe(&a->call, HEADWISE_SCORES_MASKED);
    a->call.given.probe = &a->call.probe;
    a->arguments = layer_call_arguments(&a->call);
    a->given = &a->arguments;
}

static enum headwise_status run_attempt(const struct attempt *a) {
    return headwise_mha_forward(a->context, a->mha, a->given);
}

static void expect_refused(struct attempt *a, spoil_fn *spoil, const char *name) {
    struct attempt before = *a;
    const struct headwise_probe *p = &before.call.probe;
    spoil(a);
    enum headwise_status status = run_attempt(a);
    if (status != HEADWISE_ERR_INVALID)
        fail_msg("%s: status %s", name, headwise_status_name(status));
    expect_text("mha_forward: ", name);
    guard_expect_untouched(before.call.y.data, (size_t)2 * 3 * 12 * sizeof(float), name);
    guard_expect_untouched(p->weights, (size_t)2 * 4 * 3 * 8 * sizeof(float), name);
    guard_expect_untouched(p->contributions, (size_t)2 * 4 * 3 * 12 * sizeof(float), name);
    guard_expect_untouched(p->lse, (size_t)2 * 4 * 3 * sizeof(float), name);
}

static void wrong_forward_arguments_are_refused(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 2);
    struct headwise_mha_config config = valid_config();
    headwise_mha *mha = layer_create(context, &config);
    guard_release(); /* the layer has its own copy */
    struct attempt a;
    make_attempt(&a, context, mha, &config);
    assert_int_equal(run_attempt(&a), HEADWISE_OK); /* the unspoilt call */
    for (size_t i = 0; i < TEST_COUNT(forward_spoils); i++) {
        make_attempt(&a, context, mha, &config);
        expect_refused(&a, forward_spoils[i].spoil, forward_spoils[i].name);
        guard_reset();
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* A layer packed for one tier does not run on another. */
static void a_layer_of_another_tier_is_refused(enum headwise_isa isa) {
    enum headwise_isa tiers[4];
    if (test_tiers(tiers) < 2)
        test_skip("only one tier is usable");
    (void)isa;
    struct headwise_mha_config config = valid_config();
    headwise_context *first = call_context(tiers[0], 1), *second = call_context(tiers[1], 1);
    headwise_mha *mha = layer_create(first, &config);
    struct attempt a;
    make_attempt(&a, second, mha, &config);
    assert_int_equal(run_attempt(&a), HEADWISE_ERR_INVALID);
    guard_expect_untouched(a.call.y.data, (size_t)2 * 3 * 12 * sizeof(float), "y");
    a.context = first;
    assert_int_equal(run_attempt(&a), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(first);
    headwise_context_destroy(second);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(wrong_configurations_are_refused),
        TEST_CASE(wrong_forward_arguments_are_refused),
        TEST_CASE(a_layer_of_another_tier_is_refused),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
