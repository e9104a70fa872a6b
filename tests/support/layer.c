/* Makes layers with random weights, and runs them forward. */
#include "layer.h"

#include <math.h>

#include "cmocka_headers.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"

struct sizes {
    int64_t heads, kv_heads, dim, value_dim, d_memory, d_out;
};

static struct sizes sizes_of(const struct headwise_mha_config *c) {
    struct sizes s = {.heads = c->n_heads};
    s.kv_heads = c->n_kv_heads != 0 ? c->n_kv_heads : c->n_heads;
    s.dim = c->head_dim != 0 ? c->head_dim : c->d_model / c->n_heads;
    s.value_dim = c->value_dim != 0 ? c->value_dim : s.dim;
    s.d_memory = c->d_memory != 0 ? c->d_memory : c->d_model;
    s.d_out = c->d_out != 0 ? c->d_out : c->d_model;
    return s;
}

static const void *matrix(struct test_rng *rng, enum headwise_dtype dtype, int64_t inputs,
                          int64_t outputs) {
    struct headwise_tensor w = call_tensor(dtype, 1, 1, outputs, inputs, NULL);
    call_fill(rng, &w, 1 / sqrtf((float)inputs));
    return w.data;
}

static const float *bias(struct test_rng *rng, int64_t outputs) {
    float *b = guard_floats((size_t)outputs);
    test_rng_fill(rng, b, (size_t)outputs, 1);
    return b;
}

void layer_fill_weights(struct test_rng *rng, struct headwise_mha_config *c, bool with_biases) {
    struct sizes s = sizes_of(c);
    c->size = sizeof(*c);
    c->w_q = matrix(rng, c->weight_dtype, c->d_model, s.heads * s.dim);
    c->w_k = matrix(rng, c->weight_dtype, s.d_memory, s.kv_heads * s.dim);
    c->w_v = matrix(rng, c->weight_dtype, s.d_memory, s.kv_heads * s.value_dim);
    c->w_o = matrix(rng, c->weight_dtype, s.heads * s.value_dim, s.d_out);
    c->b_q = with_biases ? bias(rng, s.heads * s.dim) : NULL;
    c->b_k = with_biases ? bias(rng, s.kv_heads * s.dim) : NULL;
    c->b_v = with_biases ? bias(rng, s.kv_heads * s.value_dim) : NULL;
    c->b_o = with_biases ? bias(rng, s.d_out) : NULL;
}

struct layer_call layer_call_make(struct test_rng *rng, const struct headwise_mha_config *config,
                                  int64_t batch, int64_t rows, int64_t memory_rows,
                                  enum headwise_dtype dtype) {
    struct sizes s = sizes_of(config);
    struct layer_call call = {.config = config,
                              .options = {.size = sizeof(call.options)},
                              .given = {.size = sizeof(call.given)}};
    call.x = call_tensor(dtype, batch, 1, rows, config->d_model, NULL);
    call.y = call_tensor(dtype, batch, 1, rows, s.d_out, NULL);
    call_fill(rng, &call.x, 1);
    call.has_memory = memory_rows >= 0;
    if (call.has_memory) {
        call.memory = call_tensor(dtype, batch, 1, memory_rows, s.d_memory, NULL);
        call_fill(rng, &call.memory, 1);
    }
    return call;
}

int64_t layer_call_keys(const struct layer_call *call) {
    const struct headwise_tensor *past = call->given.past_key;
    return (call->has_memory ? call->memory.size[2] : call->x.size[2]) +
           (past != NULL ? past->size[2] : 0);
}

void layer_call_probe(struct layer_call *call, enum headwise_score_stage stage) {
    struct sizes s = sizes_of(call->config);
    size_t queries = (size_t)(call->x.size[0] * call->x.size[2]);
    size_t rows = queries * (size_t)s.heads, keys = (size_t)layer_call_keys(call);
    call->probe = (struct headwise_probe){
        .size = sizeof(call->probe),
        .weights = guard_floats(rows * keys),
        .mean_weights = guard_floats(queries * keys),
        .scores = guard_floats(rows * keys),
        .score_stage = stage,
        .lse = guard_floats(rows),
        .head_outputs = guard_floats(rows * (size_t)s.value_dim),
        .contributions = guard_floats(rows * (size_t)s.d_out),
    };
}

headwise_mha *layer_create(headwise_context *context, const struct headwise_mha_config *config) {
    headwise_mha *mha = NULL;
    if (headwise_mha_create(&mha, context, config) != HEADWISE_OK)
        fail_msg("headwise_mha_create: %s", headwise_last_error());
    return mha;
}

struct headwise_attention_call layer_call_arguments(const struct layer_call *call) {
    struct headwise_attention_call arguments = call->given;
    arguments.y = &call->y;
    arguments.x = &call->x;
    arguments.memory = call->has_memory ? &call->memory : NULL;
    arguments.options = &call->options;
    if (call->probe.size != 0)
        arguments.probe = &call->probe;
    return arguments;
}

enum headwise_status layer_try(headwise_context *context, const headwise_mha *mha,
                               const struct layer_call *call) {
    struct headwise_attention_call arguments = layer_call_arguments(call);
    return headwise_mha_forward(context, mha, &arguments);
}

struct oracle_result *layer_oracle(const struct headwise_mha_config *config,
                                   const struct layer_call *call) {
    struct headwise_attention_call arguments = layer_call_arguments(call);
    return oracle_layer(config, &arguments);
}

void layer_run_with(headwise_context *context, const headwise_mha *mha, struct layer_call *call) {
    if (layer_try(context, mha, call) != HEADWISE_OK)
        fail_msg("headwise_mha_forward: %s", headwise_last_error());
    guard_check();
}

void layer_expect_oracle(enum headwise_isa isa, struct layer_call *call) {
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, call->config);
    layer_run_with(context, mha, call);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    oracle_expect(layer_oracle(call->config, call), &call->y,
                  call->probe.size != 0 ? &call->probe : NULL);
}
