/* What a shape costs: operations, bytes, rows. */
#include "shape.h"

#include <stdio.h>

void bench_case_name(char *name, size_t size, const char *family, const struct bench_case *c) {
    const struct bench_shape *s = &c->shape;
    char window[32] = "", dtype[16] = "", chunk[32] = "", weights[32] = "";
    if (s->window > 0)
        snprintf(window, sizeof window, "/window:%lld", (long long)s->window);
    if (s->key_dtype != HEADWISE_F32)
        snprintf(dtype, sizeof dtype, "/dtype:%s", headwise_dtype_name(s->key_dtype));
    if (s->chunk > 0)
        snprintf(chunk, sizeof chunk, "/chunk:%lld", (long long)s->chunk);
    if (s->weight_dtype != HEADWISE_F32)
        snprintf(weights, sizeof weights, "/weights:%s",
                 s->dynamic ? "dynamic" : headwise_dtype_name(s->weight_dtype));
    snprintf(name, size,
             "%s/%s/B:%lld/H:%lld/KV:%lld/S:%lld/T:%lld/D:%lld/causal:%d%s%s%s%s/threads:%d/isa:%s",
             family, s->kind, (long long)s->batch, (long long)s->n_heads, (long long)s->n_kv_heads,
             (long long)s->n_queries, (long long)s->n_keys, (long long)s->head_dim, s->causal,
             window, dtype, chunk, weights, c->n_threads, headwise_isa_name(c->isa));
}

int64_t bench_sequence_rows(const struct bench_shape *s, int64_t b, int64_t n) {
    int64_t rows = n * (b + 1) * (b + 1) / (s->batch * s->batch);
    return rows > 1 ? rows : 1;
}

int64_t bench_ragged_rows(const struct bench_shape *s, int64_t n) {
    int64_t rows = 0;
    for (int64_t b = 0; b < s->batch; b++)
        rows += bench_sequence_rows(s, b, n);
    return rows;
}

int64_t bench_queries(const struct bench_shape *s) {
    return s->ragged ? bench_ragged_rows(s, s->n_queries) : s->batch * s->n_queries;
}

/* Keys that the query at a position of n_keys sees. */
static int64_t visible_keys(const struct bench_shape *s, int64_t position, int64_t n_keys) {
    int64_t last = s->causal ? position + 1 : n_keys;
    int64_t first = s->window > 0 && position + 1 > s->window ? position + 1 - s->window : 0;
    return last - first;
}

static double pairs_of(const struct bench_shape *s, int64_t n_queries, int64_t n_keys) {
    double pairs = 0;
    for (int64_t i = 0; i < n_queries; i++)
        pairs += (double)visible_keys(s, n_keys - n_queries + i, n_keys);
    return pairs;
}

/* Of all batch entries. */
static double visible_pairs(const struct bench_shape *s) {
    double pairs = 0;
    if (!s->ragged)
        return (double)s->batch * pairs_of(s, s->n_queries, s->n_keys);
    for (int64_t b = 0; b < s->batch; b++)
        pairs += pairs_of(s, bench_sequence_rows(s, b, s->n_queries),
                          bench_sequence_rows(s, b, s->n_keys));
    return pairs;
}

/* Keys that any query of the call sees: those hidden before the first window are never needed. */
static double needed_keys(const struct bench_shape *s) {
    int64_t first = s->n_keys - s->n_queries;
    if (s->ragged)
        return (double)bench_ragged_rows(s, s->n_keys);
    return (double)s->batch *
           (double)(s->n_keys -
                    (s->window > 0 && first + 1 > s->window ? first + 1 - s->window : 0));
}

static double weights(const struct bench_shape *s) {
    double d_model = (double)(s->n_heads * s->head_dim),
           d_kv = (double)(s->n_kv_heads * s->head_dim);
    return s->is_layer ? 2 * d_model * d_model + 2 * d_model * d_kv : 0;
}

double bench_attention_flops(const struct bench_shape *s) {
    return 4 * (double)(s->n_heads * s->head_dim) * visible_pairs(s);
}

double bench_projection_flops(const struct bench_shape *s) {
    return 2 * weights(s) * (double)bench_queries(s);
}

/* An 8-bit cache has a scale of 4 bytes for 32 elements. */
static double key_bytes(const struct bench_shape *s) {
    return (double)headwise_dtype_size(s->key_dtype) + (s->key_dtype == HEADWISE_I8 ? 0.125 : 0);
}

double bench_bytes(const struct bench_shape *s) {
    double rows = (double)(bench_queries(s) * s->n_heads * s->head_dim);
    double keys = (double)(s->n_kv_heads * s->head_dim) * needed_keys(s);
    return (double)headwise_dtype_size(s->weight_dtype) * weights(s) + 8 * rows +
           2 * key_bytes(s) * keys;
}
