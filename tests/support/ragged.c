/* Makes ragged calls in guarded memory, and calls each of their sequences alone. */
#include "ragged.h"

#include <math.h>
#include <string.h>

#include "cmocka_headers.h"
#include "compare.h"
#include "guard.h"
#include "half.h"

enum { BEFORE = 2, AFTER = 3 }; /* rows that belong to no sequence */

static struct headwise_tensor rows_tensor(enum headwise_dtype dtype, int64_t heads, int64_t rows,
                                          int64_t columns, bool packed) {
    void *data = guard_alloc((size_t)(heads * rows * columns) * headwise_dtype_size(dtype), 0);
    return packed ? headwise_tensor_brhc(data, dtype, 1, rows, heads, columns)
                  : headwise_tensor_bhrc(data, dtype, 1, heads, rows, columns);
}

static int64_t place(const struct headwise_tensor *t, int64_t h, int64_t r, int64_t c) {
    return h * t->stride[1] + r * t->stride[2] + c;
}

static void fill_rows(struct test_rng *rng, struct headwise_tensor *t, int64_t first, int64_t end) {
    for (int64_t h = 0; h < t->size[1]; h++)
        for (int64_t r = 0; r < t->size[2]; r++)
            for (int64_t c = 0; c < t->size[3]; c++)
                half_store(t->dtype, t->data, place(t, h, r, c),
                           r < first || r >= end ? (double)NAN : (double)test_rng_float(rng));
}

static void fill_starts(int32_t *starts, int64_t n, const int64_t *lengths) {
    starts[0] = BEFORE;
    for (int64_t b = 0; b < n; b++)
        starts[b + 1] = starts[b] + (int32_t)lengths[b];
}

struct ragged_call ragged_make(struct test_rng *rng, struct call_shape shape,
                               enum headwise_dtype dtype, int64_t n, const int64_t *queries,
                               const int64_t *keys, bool packed) {
    struct ragged_call ragged = {.call.options.size = sizeof(struct headwise_attention_options),
                                 .call.given.size = sizeof(struct headwise_attention_call),
                                 .n = n};
    fill_starts(ragged.query_starts, n, queries);
    fill_starts(ragged.key_starts, n, keys);
    shape.batch = 1;
    shape.queries = ragged.query_starts[n] + AFTER;
    shape.keys = ragged.key_starts[n] + AFTER;
    struct call *call = &ragged.call;
    call->shape = shape;
    call->q = rows_tensor(dtype, shape.heads, shape.queries, shape.dim, packed);
    call->k = rows_tensor(dtype, shape.kv_heads, shape.keys, shape.dim, packed);
    call->v = rows_tensor(dtype, shape.kv_heads, shape.keys, shape.value_dim, packed);
    call->y = rows_tensor(dtype, shape.heads, shape.queries, shape.value_dim, packed);
    fill_rows(rng, &call->q, BEFORE, ragged.query_starts[n]);
    fill_rows(rng, &call->k, BEFORE, ragged.key_starts[n]);
    fill_rows(rng, &call->v, BEFORE, ragged.key_starts[n]);
    return ragged;
}

static size_t count_pairs(const struct ragged_call *ragged) {
    int64_t pairs = 0;
    for (int64_t b = 0; b < ragged->n; b++)
        pairs += (int64_t)(ragged->query_starts[b + 1] - ragged->query_starts[b]) *
                 (ragged->key_starts[b + 1] - ragged->key_starts[b]);
    return (size_t)pairs;
}

static struct headwise_statistics new_statistics(size_t rows) {
    return (struct headwise_statistics){
        .size = sizeof(struct headwise_statistics),
        .entropy = guard_floats(rows),
        .largest = guard_floats(rows),
        .strongest = guard_alloc(rows * sizeof(int64_t), 0),
        .mean_distance = guard_floats(rows),
        .self_weight = guard_floats(rows),
        .previous_weight = guard_floats(rows),
        .next_weight = guard_floats(rows),
        .first_weight = guard_floats(rows),
    };
}

void ragged_probe(struct ragged_call *ragged, unsigned wants, bool statistics,
                  enum headwise_score_stage stage) {
    const struct call_shape *s = &ragged->call.shape;
    size_t heads = (size_t)s->heads, rows = heads * (size_t)s->queries;
    size_t pairs = count_pairs(ragged);
    ragged->call.probe = (struct headwise_probe){
        .size = sizeof(ragged->call.probe),
        .weights = wants & CALL_WEIGHTS ? guard_floats(heads * pairs) : NULL,
        .mean_weights = wants & CALL_MEAN ? guard_floats(pairs) : NULL,
        .scores = wants & CALL_SCORES ? guard_floats(heads * pairs) : NULL,
        .score_stage = stage,
        .lse = wants & CALL_LSE ? guard_floats(rows) : NULL,
        .head_outputs = wants & CALL_HEADS ? guard_floats(rows * (size_t)s->value_dim) : NULL,
    };
    ragged->statistics =
        statistics ? new_statistics(rows) : (struct headwise_statistics){.size = 0};
}

static unsigned wants_of(const struct headwise_probe *p) {
    return (p->weights != NULL ? CALL_WEIGHTS : 0u) | (p->mean_weights != NULL ? CALL_MEAN : 0u) |
           (p->scores != NULL ? CALL_SCORES : 0u) | (p->lse != NULL ? CALL_LSE : 0u) |
           (p->head_outputs != NULL ? CALL_HEADS : 0u);
}

void ragged_new_outputs(struct ragged_call *ragged) {
    struct headwise_tensor *y = &ragged->call.y;
    bool packed = y->stride[1] == y->size[3];
    *y = rows_tensor(y->dtype, y->size[1], y->size[2], y->size[3], packed);
    if (ragged->call.probe.size != 0)
        ragged_probe(ragged, wants_of(&ragged->call.probe), ragged->statistics.size != 0,
                     ragged->call.probe.score_stage);
}

/* The call without its starts. */
static struct headwise_attention_call arguments_of(struct ragged_call *ragged) {
    ragged->call.probe.statistics = ragged->statistics.size != 0 ? &ragged->statistics : NULL;
    return call_arguments(&ragged->call);
}

struct headwise_attention_call ragged_arguments(struct ragged_call *ragged) {
    struct headwise_attention_call arguments = arguments_of(ragged);
    arguments.n_sequences = ragged->n;
    arguments.query_starts = ragged->query_starts;
    arguments.key_starts = ragged->key_starts;
    return arguments;
}

void ragged_run_with(headwise_context *context, struct ragged_call *ragged) {
    struct headwise_attention_call arguments = ragged_arguments(ragged);
    if (headwise_attention(context, &arguments) != HEADWISE_OK)
        fail_msg("headwise_attention: %s", headwise_last_error());
    guard_check();
}

static headwise_cache *cache_for(headwise_context *context, const struct ragged_call *ragged) {
    const struct call_shape *s = &ragged->call.shape;
    struct headwise_cache_config config = {.size = sizeof(config),
                                           .n_sequences = ragged->n + 1,
                                           .n_kv_heads = s->kv_heads,
                                           .head_dim = s->dim,
                                           .value_dim = s->value_dim,
                                           .capacity = s->keys};
    headwise_cache *cache = NULL;
    assert_int_equal(headwise_cache_create(&cache, context, &config), HEADWISE_OK);
    return cache;
}

void ragged_run_cached(headwise_context *context, struct ragged_call *ragged) {
    headwise_cache *cache = cache_for(context, ragged);
    int64_t numbers[RAGGED_MOST];
    for (int64_t b = 0; b < ragged->n; b++)
        numbers[b] = ragged->n - b;
    struct headwise_attention_call arguments = ragged_arguments(ragged);
    struct headwise_attention_call rows = {.size = sizeof(rows),
                                           .k = arguments.k,
                                           .v = arguments.v,
                                           .cache = cache,
                                           .n_sequences = ragged->n,
                                           .query_starts = ragged->key_starts,
                                           .cache_sequences = numbers};
    arguments.k = arguments.v = NULL;
    arguments.cache = cache;
    arguments.key_starts = NULL;
    arguments.cache_sequences = numbers;
    if (headwise_cache_append(context, &rows) != HEADWISE_OK ||
        headwise_attention(context, &arguments) != HEADWISE_OK)
        fail_msg("ragged over a cache: %s", headwise_last_error());
    guard_check();
    headwise_cache_destroy(cache);
}

struct headwise_tensor ragged_rows(const struct headwise_tensor *t, const int32_t *starts,
                                   int64_t b) {
    struct headwise_tensor view = *t;
    view.data = (char *)t->data + starts[b] * t->stride[2] * (int64_t)headwise_dtype_size(t->dtype);
    view.size[2] = starts[b + 1] - starts[b];
    return view;
}

struct ragged_call ragged_alone(const struct ragged_call *ragged, int64_t b) {
    struct ragged_call alone = *ragged;
    struct call *call = &alone.call;
    struct headwise_attention_call *g = &call->given;
    alone.n = 1;
    call->q = ragged_rows(&call->q, ragged->query_starts, b);
    call->k = ragged_rows(&call->k, ragged->key_starts, b);
    call->v = ragged_rows(&call->v, ragged->key_starts, b);
    call->y.size[2] = call->shape.queries = call->q.size[2];
    call->shape.keys = call->k.size[2];
    alone.query_starts[0] = alone.key_starts[0] = 0;
    alone.query_starts[1] = (int32_t)call->q.size[2];
    alone.key_starts[1] = (int32_t)call->k.size[2];
    g->query_offsets = g->query_offsets != NULL ? g->query_offsets + b : NULL;
    g->key_lengths = g->key_lengths != NULL ? g->key_lengths + b : NULL;
    g->head_gates = g->head_gates != NULL ? g->head_gates + b * g->gate_batch_stride : NULL;
    ragged_new_outputs(&alone);
    return alone;
}

void ragged_run_alone(headwise_context *context, struct ragged_call *alone) {
    struct headwise_attention_call arguments = arguments_of(alone);
    if (headwise_attention(context, &arguments) != HEADWISE_OK)
        fail_msg("headwise_attention: %s", headwise_last_error());
    guard_check();
}

/* Rows of [H][R][columns] against [H][S][columns]. */
static void expect_rows(const struct ragged_call *ragged, int64_t b, const float *got,
                        const float *want, int64_t columns, const char *what) {
    const struct call_shape *s = &ragged->call.shape;
    int64_t first = ragged->query_starts[b], n = ragged->query_starts[b + 1] - first;
    for (int64_t h = 0; got != NULL && h < s->heads; h++)
        compare_same_bits(got + (h * s->queries + first) * columns, want + h * n * columns,
                          (size_t)(n * columns), "sequence %d, head %d: %s", (int)b, (int)h, what);
}

static void expect_statistics(const struct ragged_call *ragged, int64_t b,
                              const struct ragged_call *alone) {
    const struct headwise_statistics *got = &ragged->statistics, *want = &alone->statistics;
    int64_t first = ragged->query_starts[b], n = ragged->query_starts[b + 1] - first;
    expect_rows(ragged, b, got->entropy, want->entropy, 1, "entropy");
    expect_rows(ragged, b, got->largest, want->largest, 1, "largest");
    expect_rows(ragged, b, got->mean_distance, want->mean_distance, 1, "distance");
    expect_rows(ragged, b, got->self_weight, want->self_weight, 1, "self");
    expect_rows(ragged, b, got->previous_weight, want->previous_weight, 1, "previous");
    expect_rows(ragged, b, got->next_weight, want->next_weight, 1, "next");
    expect_rows(ragged, b, got->first_weight, want->first_weight, 1, "first");
    for (int64_t h = 0; got->strongest != NULL && h < ragged->call.shape.heads; h++)
        assert_memory_equal(got->strongest + h * ragged->call.shape.queries + first,
                            want->strongest + h * n, (size_t)n * sizeof(int64_t));
}

static void expect_pairs(const float *got, const float *want, int64_t first, int64_t n, int64_t b,
                         const char *what) {
    if (got != NULL)
        compare_same_bits(got + first, want, (size_t)n, "sequence %d: %s", (int)b, what);
}

void ragged_expect_same(const struct ragged_call *ragged, int64_t b,
                        const struct ragged_call *alone) {
    struct call view = ragged->call;
    const struct headwise_probe *got = &ragged->call.probe, *want = &alone->call.probe;
    struct ragged_call before = *ragged;
    int64_t heads = ragged->call.shape.heads;
    int64_t pairs = alone->call.shape.queries * alone->call.shape.keys;
    before.n = b;
    int64_t first = (int64_t)count_pairs(&before);
    view.shape = alone->call.shape;
    view.y = ragged_rows(&view.y, ragged->query_starts, b);
    view.probe = (struct headwise_probe){.size = 0};
    call_expect_same(&view, &alone->call, "ragged");
    expect_rows(ragged, b, got->lse, want->lse, 1, "log-sum-exp");
    expect_rows(ragged, b, got->head_outputs, want->head_outputs, view.shape.value_dim, "heads");
    expect_pairs(got->weights, want->weights, heads * first, heads * pairs, b, "weights");
    expect_pairs(got->scores, want->scores, heads * first, heads * pairs, b, "scores");
    expect_pairs(got->mean_weights, want->mean_weights, first, pairs, b, "mean weights");
    expect_statistics(ragged, b, alone);
}

void ragged_expect_outside_untouched(const struct ragged_call *ragged) {
    const struct headwise_tensor *y = &ragged->call.y;
    size_t row_bytes = (size_t)y->size[3] * headwise_dtype_size(y->dtype);
    for (int64_t h = 0; h < y->size[1]; h++)
        for (int64_t r = 0; r < y->size[2]; r++)
            if (r < ragged->query_starts[0] || r >= ragged->query_starts[ragged->n])
                guard_expect_untouched((const char *)y->data +
                                           place(y, h, r, 0) *
                                               (int64_t)headwise_dtype_size(y->dtype),
                                       row_bytes, "a row of no sequence");
}
