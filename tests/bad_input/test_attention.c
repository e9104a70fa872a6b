/* headwise_attention() with one argument wrong at a time: a status, a text, and no output touched.
 */
#include <math.h>
#include <string.h>

#include "call.h"
#include "guard.h"
#include "runner.h"

static const struct call_shape shape = {2, 4, 2, 3, 5, 8, 6};

/* A valid call with every output asked for; each case spoils one thing. */
struct attempt {
    struct call call;
    headwise_context *context;
    struct headwise_attention_call arguments, *given;
    struct headwise_tensor mask, past_key, past_value, present_key, present_value;
    int64_t lengths[2];
    float gates[4];
};

static void make_attempt(struct attempt *a, headwise_context *context) {
    struct test_rng rng = test_rng_make(201);
    a->context = context;
    a->call = call_make(&rng, &shape, HEADWISE_F32, 0);
    a->past_key = call_tensor(HEADWISE_F32, 2, 2, 3, 8, NULL);
    a->past_value = call_tensor(HEADWISE_F32, 2, 2, 3, 6, NULL);
    a->present_key = call_tensor(HEADWISE_F32, 2, 2, 8, 8, NULL);
    a->present_value = call_tensor(HEADWISE_F32, 2, 2, 8, 6, NULL);
    a->mask = call_tensor(HEADWISE_F32, 2, 4, 3, 8, NULL);
    call_fill(&rng, &a->mask, 1);
    call_fill(&rng, &a->past_key, 1);
    call_fill(&rng, &a->past_value, 1);
    a->lengths[0] = 8;
    a->lengths[1] = 5;
    for (int i = 0; i < 4; i++)
        a->gates[i] = 1;
    struct headwise_attention_call *g = &a->call.given;
    g->past_key = &a->past_key;
    g->past_value = &a->past_value;
    g->present_key = &a->present_key;
    g->present_value = &a->present_value;
    g->mask = &a->mask;
    g->key_lengths = a->lengths;
    g->head_gates = a->gates;
    call_probe(&a->call, CALL_ALL, HEADWISE_SCORES_MASKED);
    g->probe = &a->call.probe;
    a->arguments = call_arguments(&a->call);
    a->given = &a->arguments;
}

static enum headwise_status run_attempt(const struct attempt *a) {
    return headwise_attention(a->context, a->given);
}

static void expect_tensor_untouched(const struct headwise_tensor *t, int64_t n, const char *what) {
    guard_expect_untouched(t->data, (size_t)n * sizeof(float), what);
}

#define SPOIL(function)                                                                            \
    { #function, function }

typedef void spoil_fn(struct attempt *a);

#define OPTIONS (a->call.options)

static void null_context(struct attempt *a) {
    a->context = NULL;
}
static void null_call(struct attempt *a) {
    a->given = NULL;
}
static void call_size_zero(struct attempt *a) {
    a->arguments.size = 0;
}
static void call_size_large(struct attempt *a) {
    a->arguments.size += 8;
}
static void x_of_a_layer(struct attempt *a) {
    a->arguments.x = a->arguments.q;
}
static void memory_of_a_layer(struct attempt *a) {
    a->arguments.memory = a->arguments.q;
}
static void attend_only(struct attempt *a) {
    a->arguments.attend_only = true;
}
static void n_sequences_alone(struct attempt *a) {
    a->arguments.n_sequences = 1;
}
static void cache_sequences_alone(struct attempt *a) {
    a->arguments.cache_sequences = a->lengths;
}
static void first_sequence_alone(struct attempt *a) {
    a->arguments.first_sequence = 1;
}
static void null_y(struct attempt *a) {
    a->arguments.y = NULL;
}
static void null_q(struct attempt *a) {
    a->arguments.q = NULL;
}
static void null_k(struct attempt *a) {
    a->arguments.k = NULL;
}
static void null_v(struct attempt *a) {
    a->arguments.v = NULL;
}
static void null_q_data(struct attempt *a) {
    a->call.q.data = NULL;
}
static void null_y_data(struct attempt *a) {
    a->call.y.data = NULL;
}
static void null_past_data(struct attempt *a) {
    a->past_key.data = NULL;
}
static void null_mask_data(struct attempt *a) {
    a->mask.data = NULL;
}
static void null_present_data(struct attempt *a) {
    a->present_value.data = NULL;
}
static void bool_q(struct attempt *a) {
    a->call.q.dtype = HEADWISE_BOOL;
}
static void i8_k(struct attempt *a) {
    a->call.k.dtype = HEADWISE_I8;
}
static void unknown_v(struct attempt *a) {
    a->call.v.dtype = (enum headwise_dtype)77;
}
static void negative_type_y(struct attempt *a) {
    a->call.y.dtype = (enum headwise_dtype) - 1;
}
static void i8_mask(struct attempt *a) {
    a->mask.dtype = HEADWISE_I8;
}
static void f16_past(struct attempt *a) {
    a->past_key.dtype = HEADWISE_F16;
}
static void f16_past_value(struct attempt *a) {
    a->past_value.dtype = HEADWISE_F16;
}
static void bf16_present(struct attempt *a) {
    a->present_key.dtype = HEADWISE_BF16;
}
static void bool_precision(struct attempt *a) {
    OPTIONS.softmax_precision = HEADWISE_BOOL;
}
static void i8_precision(struct attempt *a) {
    OPTIONS.softmax_precision = HEADWISE_I8;
}
static void batch_of_k(struct attempt *a) {
    a->call.k.size[0] = 1;
}
static void batch_of_v(struct attempt *a) {
    a->call.v.size[0] = 3;
}
static void batch_of_y(struct attempt *a) {
    a->call.y.size[0] = 1;
}
static void heads_do_not_divide(struct attempt *a) {
    a->call.k.size[1] = a->call.v.size[1] = 3;
}
static void no_kv_heads(struct attempt *a) {
    a->call.k.size[1] = a->call.v.size[1] = 0;
}
static void heads_of_v(struct attempt *a) {
    a->call.v.size[1] = 1;
}
static void heads_of_y(struct attempt *a) {
    a->call.y.size[1] = 2;
}
static void rows_of_v(struct attempt *a) {
    a->call.v.size[2] = 4;
}
static void rows_of_y(struct attempt *a) {
    a->call.y.size[2] = 2;
}
static void columns_of_k(struct attempt *a) {
    a->call.k.size[3] = 7;
}
static void columns_of_y(struct attempt *a) {
    a->call.y.size[3] = 8;
}
static void no_head_size(struct attempt *a) {
    a->call.q.size[3] = a->call.k.size[3] = 0;
}
static void no_value_size(struct attempt *a) {
    a->call.v.size[3] = a->call.y.size[3] = 0;
}
static void negative_batch(struct attempt *a) {
    a->call.q.size[0] = -2;
}
static void negative_rows(struct attempt *a) {
    a->call.k.size[2] = a->call.v.size[2] = -1;
}
static void least_rows(struct attempt *a) {
    a->call.q.size[2] = a->call.y.size[2] = INT64_MIN;
}
static void negative_stride(struct attempt *a) {
    a->call.q.stride[2] = -8;
}
static void column_stride(struct attempt *a) {
    a->call.k.stride[3] = 2;
}
static void column_stride_zero(struct attempt *a) {
    a->call.v.stride[3] = 0;
}
static void broadcast_output(struct attempt *a) {
    a->call.y.stride[1] = 0;
}
static void broadcast_present(struct attempt *a) {
    a->present_key.stride[0] = 0;
}
static void extent_overflows(struct attempt *a) {
    a->call.q.stride[0] = INT64_MAX / 2;
}
static void extent_bytes_overflow(struct attempt *a) {
    a->call.v.stride[0] = INT64_MAX / 3;
}
static void mask_stride_overflows(struct attempt *a) {
    a->mask.stride[2] = INT64_MAX;
}
static void infinite_scale(struct attempt *a) {
    OPTIONS.scale_is_set = true, OPTIONS.scale = INFINITY;
}
static void nan_scale(struct attempt *a) {
    OPTIONS.scale_is_set = true, OPTIONS.scale = NAN;
}
static void negative_softcap(struct attempt *a) {
    OPTIONS.softcap = -1;
}
static void infinite_softcap(struct attempt *a) {
    OPTIONS.softcap = INFINITY;
}
static void nan_softcap(struct attempt *a) {
    OPTIONS.softcap = NAN;
}
static void unknown_causal(struct attempt *a) {
    OPTIONS.causal = (enum headwise_causal)3;
}
static void negative_causal(struct attempt *a) {
    OPTIONS.causal = (enum headwise_causal) - 1;
}
static void negative_length(struct attempt *a) {
    a->lengths[1] = -1;
}
static void length_beyond_keys(struct attempt *a) {
    a->lengths[0] = 9;
}
static void window_left(struct attempt *a) {
    OPTIONS.window_is_set = true, OPTIONS.window_left = -2;
}
static void window_right(struct attempt *a) {
    OPTIONS.window_is_set = true, OPTIONS.window_right = INT64_MIN;
}
static void mask_batch(struct attempt *a) {
    a->mask.size[0] = 3;
}
static void mask_heads(struct attempt *a) {
    a->mask.size[1] = 2;
}
static void mask_rows(struct attempt *a) {
    a->mask.size[2] = 2;
}
static void mask_columns(struct attempt *a) {
    a->mask.size[3] = 9;
}
static void mask_column_stride(struct attempt *a) {
    a->mask.stride[3] = 2;
}
static void mask_negative_size(struct attempt *a) {
    a->mask.size[3] = -1;
}
static void mask_negative_stride(struct attempt *a) {
    a->mask.stride[2] = -8;
}
static void mask_no_batch(struct attempt *a) {
    a->mask.size[0] = 0;
}
static void past_key_alone(struct attempt *a) {
    a->arguments.past_value = NULL;
}
static void past_value_alone(struct attempt *a) {
    a->arguments.past_key = NULL;
}
static void past_batch(struct attempt *a) {
    a->past_key.size[0] = 1;
}
static void past_heads(struct attempt *a) {
    a->past_value.size[1] = 4;
}
static void past_rows_differ(struct attempt *a) {
    a->past_value.size[2] = 2;
}
static void past_columns(struct attempt *a) {
    a->past_key.size[3] = 6;
}
static void present_rows(struct attempt *a) {
    a->present_key.size[2] = 5;
}
static void present_columns(struct attempt *a) {
    a->present_value.size[3] = 8;
}
static void gate_stride(struct attempt *a) {
    a->arguments.gate_batch_stride = -4;
}
static void options_size_zero(struct attempt *a) {
    OPTIONS.size = 0;
}
static void options_size_tiny(struct attempt *a) {
    OPTIONS.size = 3;
}
static void options_size_large(struct attempt *a) {
    OPTIONS.size = sizeof(OPTIONS) + 8;
}
static void probe_size_zero(struct attempt *a) {
    a->call.probe.size = 0;
}
static void probe_size_large(struct attempt *a) {
    a->call.probe.size = sizeof(a->call.probe) + 8;
}
static void probe_stage(struct attempt *a) {
    a->call.probe.score_stage = (enum headwise_score_stage)4;
}
static void contributions(struct attempt *a) {
    a->call.probe.contributions = a->call.probe.lse;
}

static const struct {
    const char *name;
    spoil_fn *spoil;
} spoils[] = {
    SPOIL(null_context),
    SPOIL(null_call),
    SPOIL(call_size_zero),
    SPOIL(call_size_large),
    SPOIL(x_of_a_layer),
    SPOIL(memory_of_a_layer),
    SPOIL(attend_only),
    SPOIL(n_sequences_alone),
    SPOIL(cache_sequences_alone),
    SPOIL(first_sequence_alone),
    SPOIL(null_y),
    SPOIL(null_q),
    SPOIL(null_k),
    SPOIL(null_v),
    SPOIL(null_q_data),
    SPOIL(null_y_data),
    SPOIL(null_past_data),
    SPOIL(null_mask_data),
    SPOIL(null_present_data),
    SPOIL(bool_q),
    SPOIL(i8_k),
    SPOIL(unknown_v),
    SPOIL(negative_type_y),
    SPOIL(i8_mask),
    SPOIL(f16_past),
    SPOIL(f16_past_value),
    SPOIL(bf16_present),
    SPOIL(bool_precision),
    SPOIL(i8_precision),
    SPOIL(batch_of_k),
    SPOIL(batch_of_v),
    SPOIL(batch_of_y),
    SPOIL(heads_do_not_divide),
    SPOIL(no_kv_heads),
    SPOIL(heads_of_v),
    SPOIL(heads_of_y),
    SPOIL(rows_of_v),
    SPOIL(rows_of_y),
    SPOIL(columns_of_k),
    SPOIL(columns_of_y),
    SPOIL(no_head_size),
    SPOIL(no_value_size),
    SPOIL(negative_batch),
    SPOIL(negative_rows),
    SPOIL(least_rows),
    SPOIL(negative_stride),
    SPOIL(column_stride),
    SPOIL(column_stride_zero),
    SPOIL(broadcast_output),
    SPOIL(broadcast_present),
    SPOIL(extent_overflows),
    SPOIL(extent_bytes_overflow),
    SPOIL(mask_stride_overflows),
    SPOIL(infinite_scale),
    SPOIL(nan_scale),
    SPOIL(negative_softcap),
    SPOIL(infinite_softcap),
    SPOIL(nan_softcap),
    SPOIL(unknown_causal),
    SPOIL(negative_causal),
    SPOIL(negative_length),
    SPOIL(length_beyond_keys),
    SPOIL(window_left),
    SPOIL(window_right),
    SPOIL(mask_batch),
    SPOIL(mask_heads),
    SPOIL(mask_rows),
    SPOIL(mask_columns),
    SPOIL(mask_column_stride),
    SPOIL(mask_negative_size),
    SPOIL(mask_negative_stride),
    SPOIL(mask_no_batch),
    SPOIL(past_key_alone),
    SPOIL(past_value_alone),
    SPOIL(past_batch),
    SPOIL(past_heads),
    SPOIL(past_rows_differ),
    SPOIL(past_columns),
    SPOIL(present_rows),
    SPOIL(present_columns),
    SPOIL(gate_stride),
    SPOIL(options_size_zero),
    SPOIL(options_size_tiny),
    SPOIL(options_size_large),
    SPOIL(probe_size_zero),
    SPOIL(probe_size_large),
    SPOIL(probe_stage),
    SPOIL(contributions),
};

static void expect_refused(struct attempt *a, spoil_fn *spoil, const char *name) {
    struct attempt before = *a;
    spoil(a);
    enum headwise_status status = run_attempt(a);
    if (status != HEADWISE_ERR_INVALID)
        fail_msg("%s: status %s", name, headwise_status_name(status));
    const char *text = headwise_last_error();
    if (strncmp(text, "attention: ", 11) != 0 || strchr(text, '\n') != NULL)
        fail_msg("%s: error text \"%s\"", name, text);
    const struct headwise_probe *p = &before.call.probe;
    expect_tensor_untouched(&before.call.y, (int64_t)2 * 4 * 3 * 6, name);
    expect_tensor_untouched(&before.present_key, (int64_t)2 * 2 * 8 * 8, name);
    expect_tensor_untouched(&before.present_value, (int64_t)2 * 2 * 8 * 6, name);
    guard_expect_untouched(p->weights, (size_t)2 * 4 * 3 * 8 * sizeof(float), name);
    guard_expect_untouched(p->mean_weights, (size_t)2 * 3 * 8 * sizeof(float), name);
    guard_expect_untouched(p->scores, (size_t)2 * 4 * 3 * 8 * sizeof(float), name);
    guard_expect_untouched(p->lse, (size_t)2 * 4 * 3 * sizeof(float), name);
    guard_expect_untouched(p->head_outputs, (size_t)2 * 4 * 3 * 6 * sizeof(float), name);
}

static void every_wrong_argument_is_refused(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 2);
    for (size_t i = 0; i < TEST_COUNT(spoils); i++) {
        struct attempt a;
        make_attempt(&a, context);
        expect_refused(&a, spoils[i].spoil, spoils[i].name);
        guard_reset();
    }
    headwise_context_destroy(context);
}

/* Without the spoiling the same call passes: the cases above fail for their own reason. */
static void the_unspoilt_call_passes(enum headwise_isa isa) {
    struct attempt a;
    make_attempt(&a, call_context(isa, 2));
    assert_int_equal(run_attempt(&a), HEADWISE_OK);
    headwise_context_destroy(a.context);
}

/* A failure leaves the context as it was: the next call gives the usual bits. */
static void a_refused_call_changes_nothing(enum headwise_isa isa) {
    struct attempt good, bad;
    headwise_context *context = call_context(isa, 2);
    make_attempt(&good, context);
    assert_int_equal(run_attempt(&good), HEADWISE_OK);
    struct call first = good.call;
    for (size_t i = 0; i < TEST_COUNT(spoils); i++) {
        make_attempt(&bad, context);
        spoils[i].spoil(&bad);
        assert_int_equal(run_attempt(&bad), HEADWISE_ERR_INVALID);
    }
    make_attempt(&good, context);
    assert_int_equal(run_attempt(&good), HEADWISE_OK);
    call_expect_same(&good.call, &first, "after refused calls");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_unspoilt_call_passes),
        TEST_CASE(every_wrong_argument_is_refused),
        TEST_CASE(a_refused_call_changes_nothing),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
