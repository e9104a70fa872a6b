/* Opens, runs and closes the call of a case. */
#include "call.h"

#include <math.h>
#include <stdlib.h>

#include "buffer.h"
#include "cached.h"

/* A random buffer that the call owns. NULL where memory runs out. */
static void *take(struct bench_call *call, int64_t n, enum headwise_dtype dtype, float scale) {
    void *buffer = bench_buffer(n, dtype, scale);
    if (buffer != NULL)
        call->buffers[call->n_buffers++] = buffer;
    return buffer;
}

static struct headwise_tensor take_heads(struct bench_call *call, const struct bench_shape *s,
                                         enum headwise_dtype dtype, int64_t heads, int64_t rows) {
    void *data = take(call, s->batch * heads * rows * s->head_dim, dtype, 1.0f);
    return headwise_tensor_bhrc(data, dtype, s->batch, heads, rows, s->head_dim);
}

/* The type of keys and values as they are given: a cache narrows them. */
static enum headwise_dtype given_type(const struct bench_shape *s) {
    return s->cached ? HEADWISE_F32 : s->key_dtype;
}

/* Where sequences of n rows at most begin, and the last one ends. */
static int32_t *take_starts(struct bench_call *call, const struct bench_shape *s, int64_t n) {
    int32_t *starts = calloc((size_t)s->batch + 1, sizeof *starts);
    if (starts == NULL)
        return NULL;
    call->buffers[call->n_buffers++] = starts;
    for (int64_t b = 0; b < s->batch; b++)
        starts[b + 1] = starts[b] + (int32_t)bench_sequence_rows(s, b, n);
    return starts;
}

static bool open_ragged(struct bench_call *call, const struct bench_shape *s) {
    struct bench_shape rows = *s; /* one batch entry, all rows */
    rows.batch = 1;
    call->call.n_sequences = s->batch;
    call->call.query_starts = take_starts(call, s, s->n_queries);
    call->call.key_starts = take_starts(call, s, s->n_keys);
    int64_t n_queries = bench_ragged_rows(s, s->n_queries);
    int64_t n_keys = bench_ragged_rows(s, s->n_keys);
    call->x = take_heads(call, &rows, HEADWISE_F32, s->n_heads, n_queries);
    call->y = take_heads(call, &rows, HEADWISE_F32, s->n_heads, n_queries);
    call->k = take_heads(call, &rows, s->key_dtype, s->n_kv_heads, n_keys);
    call->v = take_heads(call, &rows, s->key_dtype, s->n_kv_heads, n_keys);
    return call->n_buffers == 6;
}

static bool open_operator(struct bench_call *call, const struct bench_shape *s) {
    call->x = take_heads(call, s, HEADWISE_F32, s->n_heads, s->n_queries);
    call->y = take_heads(call, s, HEADWISE_F32, s->n_heads, s->n_queries);
    call->k = take_heads(call, s, given_type(s), s->n_kv_heads, s->n_keys);
    call->v = take_heads(call, s, given_type(s), s->n_kv_heads, s->n_keys);
    return call->n_buffers == 4;
}

static bool open_layer(struct bench_call *call, const struct bench_shape *s) {
    int64_t d_model = s->n_heads * s->head_dim, d_kv = s->n_kv_heads * s->head_dim;
    int64_t n_past = s->n_keys - s->n_queries, rows = s->batch * s->n_queries;
    float scale = sqrtf(3.0f / (float)d_model); /* keeps the variance of x */
    struct headwise_mha_config config = {
        .size = sizeof config,
        .d_model = d_model,
        .n_heads = s->n_heads,
        .n_kv_heads = s->n_kv_heads,
        .w_q = take(call, d_model * d_model, HEADWISE_F32, scale),
        .w_k = take(call, d_model * d_kv, HEADWISE_F32, scale),
        .w_v = take(call, d_model * d_kv, HEADWISE_F32, scale),
        .w_o = take(call, d_model * d_model, HEADWISE_F32, scale),
        .packed_dtype = s->weight_dtype,
        .dynamic_int8 = s->dynamic,
    };
    void *x = take(call, rows * d_model, HEADWISE_F32, 1.0f);
    void *y = take(call, rows * d_model, HEADWISE_F32, 1.0f);
    call->x = headwise_tensor_brhc(x, HEADWISE_F32, s->batch, s->n_queries, 1, d_model);
    call->y = headwise_tensor_brhc(y, HEADWISE_F32, s->batch, s->n_queries, 1, d_model);
    call->past_key = take_heads(call, s, given_type(s), s->n_kv_heads, n_past);
    call->past_value = take_heads(call, s, given_type(s), s->n_kv_heads, n_past);
    if (n_past > 0 && !s->cached) {
        call->call.past_key = &call->past_key;
        call->call.past_value = &call->past_value;
    }
    return call->n_buffers == 8 &&
           headwise_mha_create(&call->mha, call->context, &config) == HEADWISE_OK;
}

bool bench_call_open(struct bench_call *call, const struct bench_case *c, const char **why) {
    const struct bench_shape *s = &c->shape;
    struct headwise_context_options options = {
        .size = sizeof options, .isa = c->isa, .n_threads = c->n_threads};
    *call = (struct bench_call){
        .options.size = sizeof call->options,
        .call = {.size = sizeof call->call, .y = &call->y, .options = &call->options}};
    if (s->is_layer) {
        call->call.x = &call->x;
    } else {
        call->call.q = &call->x;
        call->call.k = &call->k;
        call->call.v = &call->v;
    }
    if (s->causal)
        call->options.causal =
            s->is_layer ? HEADWISE_CAUSAL_TOP_LEFT : HEADWISE_CAUSAL_BOTTOM_RIGHT;
    if (s->window > 0) {
        call->options.window_is_set = true;
        call->options.window_left = s->window - 1;
        call->options.window_right = 0;
    }
    bool is_open = headwise_context_create(&call->context, &options) == HEADWISE_OK &&
                   (s->is_layer ? open_layer(call, s)
                    : s->ragged ? open_ragged(call, s)
                                : open_operator(call, s)) &&
                   (!s->cached || bench_cached_open(call, s)) &&
                   bench_call_run(call) == HEADWISE_OK;
    if (!is_open) {
        *why = headwise_last_error()[0] != '\0' ? headwise_last_error() : "out of memory";
        bench_call_close(call);
    }
    return is_open;
}

void bench_call_close(struct bench_call *call) {
    headwise_cache_destroy(call->cache);
    headwise_mha_destroy(call->mha);
    headwise_context_destroy(call->context);
    while (call->n_buffers > 0)
        free(call->buffers[--call->n_buffers]);
    *call = (struct bench_call){.n_buffers = 0};
}

enum headwise_status bench_call_run(struct bench_call *call) {
    if (call->cache != NULL)
        return bench_cached_run(call);
    if (call->mha != NULL)
        return headwise_mha_forward(call->context, call->mha, &call->call);
    return headwise_attention(call->context, &call->call);
}
