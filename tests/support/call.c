/* Makes tensors in guarded memory, and calls the engine on them. */
#include "call.h"

#include <math.h>
#include <string.h>

#include "cmocka_headers.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"

static int64_t elements(const struct headwise_tensor *t) {
    return t->size[0] * t->size[1] * t->size[2] * t->size[3];
}

struct headwise_tensor call_tensor(enum headwise_dtype dtype, int64_t batch, int64_t heads,
                                   int64_t rows, int64_t columns, const float *values) {
    struct headwise_tensor t = headwise_tensor_bhrc(NULL, dtype, batch, heads, rows, columns);
    t.data = guard_alloc((size_t)elements(&t) * headwise_dtype_size(dtype), 0);
    for (int64_t i = 0; values != NULL && i < elements(&t); i++)
        half_store(dtype, t.data, i, (double)values[i]);
    return t;
}

static struct headwise_tensor shifted_tensor(enum headwise_dtype dtype, int64_t batch,
                                             int64_t heads, int64_t rows, int64_t columns,
                                             size_t shift_bytes) {
    struct headwise_tensor t = headwise_tensor_bhrc(NULL, dtype, batch, heads, rows, columns);
    t.data = guard_alloc((size_t)elements(&t) * headwise_dtype_size(dtype), shift_bytes);
    return t;
}

void call_fill(struct test_rng *rng, struct headwise_tensor *t, float scale) {
    for (int64_t i = 0; i < elements(t); i++)
        half_store(t->dtype, t->data, i, (double)(test_rng_float(rng) * scale));
}

struct call call_make(struct test_rng *rng, const struct call_shape *s, enum headwise_dtype dtype,
                      size_t shift_bytes) {
    struct call call = {.shape = *s,
                        .options = {.size = sizeof(call.options)},
                        .given = {.size = sizeof(call.given)}};
    call.q = shifted_tensor(dtype, s->batch, s->heads, s->queries, s->dim, shift_bytes);
    call.k = shifted_tensor(dtype, s->batch, s->kv_heads, s->keys, s->dim, shift_bytes);
    call.v = shifted_tensor(dtype, s->batch, s->kv_heads, s->keys, s->value_dim, shift_bytes);
    call.y = shifted_tensor(dtype, s->batch, s->heads, s->queries, s->value_dim, shift_bytes);
    call_fill(rng, &call.q, 1);
    call_fill(rng, &call.k, 1);
    call_fill(rng, &call.v, 1);
    return call;
}

struct call call_uniform(const struct call_shape *s) {
    struct test_rng rng = test_rng_fixed(0);
    struct call call = call_make(&rng, s, HEADWISE_F32, 0);
    call.options.scale_is_set = true;
    call.options.scale = 1;
    call_fill(&rng, &call.q, 0);
    for (int64_t i = 0; i < elements(&call.k); i++)
        half_store(HEADWISE_F32, call.k.data, i, 1);
    for (int64_t i = 0; i < elements(&call.v); i++)
        half_store(HEADWISE_F32, call.v.data, i, (double)(i / s->value_dim % s->keys + 1));
    return call;
}

int64_t call_keys(const struct call *call) {
    const struct headwise_tensor *past = call->given.past_key;
    return call->shape.keys + (past != NULL ? past->size[2] : 0);
}

void call_probe(struct call *call, unsigned wants, enum headwise_score_stage stage) {
    const struct call_shape *s = &call->shape;
    size_t rows = (size_t)(s->batch * s->heads * s->queries), keys = (size_t)call_keys(call);
    struct headwise_probe *p = &call->probe;
    *p = (struct headwise_probe){.size = sizeof(*p), .score_stage = stage};
    p->weights = wants & CALL_WEIGHTS ? guard_floats(rows * keys) : NULL;
    p->mean_weights =
        wants & CALL_MEAN ? guard_floats((size_t)(s->batch * s->queries) * keys) : NULL;
    p->scores = wants & CALL_SCORES ? guard_floats(rows * keys) : NULL;
    p->lse = wants & CALL_LSE ? guard_floats(rows) : NULL;
    p->head_outputs = wants & CALL_HEADS ? guard_floats(rows * (size_t)s->value_dim) : NULL;
}

static unsigned wants_of(const struct headwise_probe *p) {
    return (p->weights != NULL ? CALL_WEIGHTS : 0u) | (p->mean_weights != NULL ? CALL_MEAN : 0u) |
           (p->scores != NULL ? CALL_SCORES : 0u) | (p->lse != NULL ? CALL_LSE : 0u) |
           (p->head_outputs != NULL ? CALL_HEADS : 0u);
}

void call_new_outputs(struct call *call) {
    const struct headwise_tensor *y = &call->y;
    call->y = call_tensor(y->dtype, y->size[0], y->size[1], y->size[2], y->size[3], NULL);
    if (call->probe.size != 0)
        call_probe(call, wants_of(&call->probe), call->probe.score_stage);
}

headwise_context *call_context(enum headwise_isa isa, int n_threads) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {
        .size = sizeof(options), .isa = isa, .n_threads = n_threads};
    if (headwise_context_create(&context, &options) != HEADWISE_OK)
        fail_msg("headwise_context_create: %s", headwise_last_error());
    assert_int_equal(headwise_context_describe(context)->isa, isa);
    return context;
}

struct headwise_attention_call call_arguments(const struct call *call) {
    struct headwise_attention_call arguments = call->given;
    arguments.y = &call->y;
    arguments.q = &call->q;
    arguments.k = &call->k;
    arguments.v = &call->v;
    arguments.options = &call->options;
    if (call->probe.size != 0)
        arguments.probe = &call->probe;
    return arguments;
}

enum headwise_status call_try(headwise_context *context, const struct call *call) {
    struct headwise_attention_call arguments = call_arguments(call);
    return headwise_attention(context, &arguments);
}

void call_run_with(headwise_context *context, struct call *call) {
    enum headwise_status status = call_try(context, call);
    if (status != HEADWISE_OK)
        fail_msg("headwise_attention: %s: %s", headwise_status_name(status), headwise_last_error());
    guard_check();
}

void call_run(enum headwise_isa isa, struct call *call) {
    headwise_context *context = call_context(isa, 1);
    call_run_with(context, call);
    headwise_context_destroy(context);
}

struct oracle_result *call_oracle(const struct call *call) {
    struct headwise_attention_call arguments = call_arguments(call);
    return oracle_attention(&arguments);
}

void call_expect_oracle(enum headwise_isa isa, struct call *call) {
    call_run(isa, call);
    oracle_expect(call_oracle(call), &call->y, call->probe.size != 0 ? &call->probe : NULL);
}

static void expect_same_floats(const float *got, const float *want, size_t n, const char *what,
                               const char *which) {
    if (got != NULL && want != NULL)
        compare_same_bits(got, want, n, "%s: %s", what, which);
}

void call_expect_same(const struct call *got, const struct call *want, const char *what) {
    const struct call_shape *s = &got->shape;
    size_t rows = (size_t)(s->batch * s->heads * s->queries), keys = (size_t)call_keys(got);
    const struct headwise_tensor *a = &got->y, *b = &want->y;
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(a->size[i], b->size[i]);
    assert_int_equal(a->dtype, b->dtype);
    for (int64_t n = 0; n < a->size[0]; n++)
        for (int64_t h = 0; h < a->size[1]; h++)
            for (int64_t i = 0; i < a->size[2]; i++)
                for (int64_t c = 0; c < a->size[3]; c++) {
                    float x = (float)oracle_load(a, n, h, i, c),
                          y = (float)oracle_load(b, n, h, i, c);
                    compare_same_bits(&x, &y, 1, "%s: y[%d][%d][%d][%d]", what, (int)n, (int)h,
                                      (int)i, (int)c);
                }
    expect_same_floats(got->probe.weights, want->probe.weights, rows * keys, what, "weights");
    expect_same_floats(got->probe.mean_weights, want->probe.mean_weights,
                       (size_t)(s->batch * s->queries) * keys, what, "mean weights");
    if (got->probe.score_stage == want->probe.score_stage)
        expect_same_floats(got->probe.scores, want->probe.scores, rows * keys, what, "scores");
    expect_same_floats(got->probe.lse, want->probe.lse, rows, what, "log-sum-exp");
    expect_same_floats(got->probe.head_outputs, want->probe.head_outputs,
                       rows * (size_t)s->value_dim, what, "head outputs");
}

void call_expect_y(const struct call *call, const double *want, const char *what) {
    const struct headwise_tensor *y = &call->y;
    int64_t at = 0;
    for (int64_t b = 0; b < y->size[0]; b++)
        for (int64_t h = 0; h < y->size[1]; h++)
            for (int64_t i = 0; i < y->size[2]; i++, at++)
                compare_expect(oracle_load(y, b, h, i, 0), want[at], 1e-6 * fabs(want[at]),
                               "%s: y of batch %d head %d query %d", what, (int)b, (int)h, (int)i);
}

uint64_t call_hash_tensor(uint64_t hash, const struct headwise_tensor *t) {
    size_t size = headwise_dtype_size(t->dtype);
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t r = 0; r < t->size[2]; r++) {
                int64_t offset = b * t->stride[0] + h * t->stride[1] + r * t->stride[2];
                hash = compare_hash(hash, (const char *)t->data + offset * (int64_t)size,
                                    (size_t)t->size[3] * size);
            }
    return hash;
}
