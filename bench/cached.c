/* Caches for the cases that decode from one. */
#include "cached.h"

static struct headwise_tensor rows_of(const struct headwise_tensor *t, int64_t first, int64_t n) {
    struct headwise_tensor rows = *t;
    int64_t skipped = first * t->stride[2] * (int64_t)headwise_dtype_size(t->dtype);
    rows.data = (char *)t->data + skipped;
    rows.size[2] = n;
    return rows;
}

static enum headwise_status append_rows(struct bench_call *call, const struct headwise_tensor *k,
                                        const struct headwise_tensor *v, int64_t first, int64_t n) {
    struct headwise_tensor k_rows = rows_of(k, first, n), v_rows = rows_of(v, first, n);
    const struct headwise_attention_call rows = {
        .size = sizeof rows, .k = &k_rows, .v = &v_rows, .cache = call->cache};
    return headwise_cache_append(call->context, &rows);
}

bool bench_cached_open(struct bench_call *call, const struct bench_shape *s) {
    const struct headwise_tensor *k = s->is_layer ? &call->past_key : &call->k;
    const struct headwise_tensor *v = s->is_layer ? &call->past_value : &call->v;
    int64_t n_past = s->n_keys - s->n_queries;
    call->chunk = s->chunk > 0 ? s->chunk : s->n_queries;
    struct headwise_cache_config config = {
        .size = sizeof config,
        .n_sequences = s->batch,
        .n_kv_heads = s->n_kv_heads,
        .head_dim = s->head_dim,
        .capacity = s->window > 0 ? s->window + call->chunk - 1 : s->n_keys,
        .dtype = s->key_dtype,
        .window = s->window,
    };
    if (headwise_cache_create(&call->cache, call->context, &config) != HEADWISE_OK)
        return false;
    for (int64_t r = 0; r < n_past; r += call->chunk) {
        int64_t n = n_past - r < call->chunk ? n_past - r : call->chunk;
        if (append_rows(call, k, v, r, n) != HEADWISE_OK)
            return false;
    }
    return true;
}

static enum headwise_status run_chunk(struct bench_call *call, int64_t length, int64_t first,
                                      int64_t n) {
    struct headwise_tensor x = rows_of(&call->x, first, n), y = rows_of(&call->y, first, n);
    struct headwise_attention_call step = {
        .size = sizeof step, .y = &y, .cache = call->cache, .options = &call->options};
    if (call->mha != NULL) {
        step.x = &x;
        return headwise_mha_forward(call->context, call->mha, &step);
    }
    enum headwise_status status = append_rows(call, &call->k, &call->v, length + first, n);
    if (status != HEADWISE_OK)
        return status;
    step.q = &x;
    return headwise_attention(call->context, &step);
}

enum headwise_status bench_cached_run(struct bench_call *call) {
    int64_t length = headwise_cache_length(call->cache, 0), n_rows = call->x.size[2];
    enum headwise_status status = HEADWISE_OK;
    for (int64_t r = 0; r < n_rows && status == HEADWISE_OK; r += call->chunk)
        status = run_chunk(call, length, r, n_rows - r < call->chunk ? n_rows - r : call->chunk);
    for (int64_t b = 0;
         b < headwise_cache_describe(call->cache)->n_sequences && status == HEADWISE_OK; b++)
        status = headwise_cache_truncate(call->cache, b, length);
    return status;
}
