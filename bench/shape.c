#include "shape.h"

#include <stdio.h>

void bench_case_name(char *name, size_t size, const char *family, const struct bench_case *c) {
    const struct bench_shape *s = &c->shape;
    char window[32] = "", dtype[16] = "";
    if (s->window > 0)
        snprintf(window, sizeof window, "/window:%lld", (long long)s->window);
    if (s->key_dtype != HEADWISE_F32)
        snprintf(dtype, sizeof dtype, "/dtype:%s", headwise_dtype_name(s->key_dtype));
    snprintf(name, size,
             "%s/%s/B:%lld/H:%lld/KV:%lld/S:%lld/T:%lld/D:%lld/causal:%d%s%s/threads:%d/isa:%s",
             family, s->kind, (long long)s->batch, (long long)s->n_heads, (long long)s->n_kv_heads,
             (long long)s->n_queries, (long long)s->n_keys, (long long)s->head_dim, s->causal,
             window, dtype, c->n_threads, headwise_isa_name(c->isa));
}

/* Keys that the query at a position sees. */
static int64_t visible_keys(const struct bench_shape *s, int64_t position) {
    int64_t last = s->causal ? position + 1 : s->n_keys;
    int64_t first = s->window > 0 && position + 1 > s->window ? position + 1 - s->window : 0;
    return last - first;
}

static double visible_pairs(const struct bench_shape *s) {
    double pairs = 0;
    for (int64_t i = 0; i < s->n_queries; i++)
        pairs += (double)visible_keys(s, s->n_keys - s->n_queries + i);
    return pairs;
}

/* Keys that any query sees: those hidden before the first window are never needed. */
static double needed_keys(const struct bench_shape *s) {
    int64_t first = s->n_keys - s->n_queries;
    return (double)(s->n_keys -
                    (s->window > 0 && first + 1 > s->window ? first + 1 - s->window : 0));
}

static double weights(const struct bench_shape *s) {
    double d_model = (double)(s->n_heads * s->head_dim),
           d_kv = (double)(s->n_kv_heads * s->head_dim);
    return s->is_layer ? 2 * d_model * d_model + 2 * d_model * d_kv : 0;
}

double bench_attention_flops(const struct bench_shape *s) {
    return 4 * (double)(s->batch * s->n_heads * s->head_dim) * visible_pairs(s);
}

double bench_projection_flops(const struct bench_shape *s) {
    return 2 * weights(s) * (double)(s->batch * s->n_queries);
}

double bench_bytes(const struct bench_shape *s) {
    double rows = (double)(s->batch * s->n_queries * s->n_heads * s->head_dim);
    double keys = (double)(s->batch * s->n_kv_heads * s->head_dim) * needed_keys(s);
    return 4 * (weights(s) + 2 * rows) + 2 * (double)headwise_dtype_size(s->key_dtype) * keys;
}
