/* Loads a layer of the seeds, runs it, and compares heads and output with the files. */
#include <math.h>
#include <stdio.h>

#include "compare.h"
#include "guard.h"
#include "seed.h"

double seed_bound(const double *want, int64_t n) {
    double largest = 1;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    return SEED_BOUND * largest;
}

void seed_expect(const float *got, const double *want, int64_t n, double more, const char *what) {
    double bound = seed_bound(want, n) + more;
    for (int64_t i = 0; i < n; i++)
        compare_expect((double)got[i], want[i], bound, "%s, element %lld", what, (long long)i);
}

const char *seed_name(const char *prefix, const char *name) {
    char *text = guard_plain(96, 1);
    snprintf(text, 96, "%s%s", prefix, name);
    return text;
}

struct seed_layer seed_load(const headwise_safetensors *file, const char *prefix, int64_t heads,
                            int64_t kv_heads) {
    struct seed_layer s = {.file = file, .batch = 1, .heads = heads};
    const struct headwise_file_tensor *x = vector_find(file, "X");
    const struct headwise_file_tensor *w_v = vector_find(file, seed_name(prefix, "W_V"));
    const struct headwise_file_tensor *w_q = vector_find(file, seed_name(prefix, "W_Q"));
    const struct headwise_file_tensor *w_o = vector_find(file, seed_name(prefix, "W_O"));
    assert_true(x != NULL && w_q != NULL && w_v != NULL && w_o != NULL);
    if (x->rank == 3)
        s.batch = x->shape[0];
    s.rows = x->shape[x->rank - 2];
    s.x = vector_f32(file, "X", -1);
    s.config = (struct headwise_mha_config){
        .size = sizeof(s.config),
        .d_model = x->shape[x->rank - 1],
        .d_out = w_o->shape[1],
        .n_heads = heads,
        .n_kv_heads = kv_heads,
        .head_dim = w_q->shape[1] / heads,
        .value_dim = w_v->shape[1] / kv_heads,
        .layout = HEADWISE_IN_OUT,
        .w_q = vector_f32(file, seed_name(prefix, "W_Q"), -1),
        .w_k = vector_f32(file, seed_name(prefix, "W_K"), -1),
        .w_v = vector_f32(file, seed_name(prefix, "W_V"), -1),
        .w_o = vector_f32(file, seed_name(prefix, "W_O"), -1),
    };
    return s;
}

headwise_context *seed_context(enum headwise_isa isa) {
    const struct headwise_context_options options = {
        .size = sizeof(options), .isa = isa, .n_threads = 2};
    headwise_context *context = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

headwise_mha *seed_create(headwise_context *context, const struct seed_layer *s) {
    headwise_mha *mha = NULL;
    if (headwise_mha_create(&mha, context, &s->config) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    return mha;
}

void seed_forward(headwise_context *context, const headwise_mha *mha, struct seed_layer *s) {
    size_t queries = (size_t)(s->batch * s->rows);
    size_t rows = queries * (size_t)headwise_mha_describe(mha)->n_heads;
    s->y = guard_floats(queries * (size_t)s->config.d_out);
    s->probe = (struct headwise_probe){
        .size = sizeof(s->probe),
        .weights = guard_floats(rows * (size_t)s->rows),
        .scores = guard_floats(rows * (size_t)s->rows),
        .head_outputs = guard_floats(rows * (size_t)s->config.value_dim),
        .contributions = guard_floats(rows * (size_t)s->config.d_out),
    };
    struct headwise_tensor x =
        headwise_tensor_brhc(s->x, HEADWISE_F32, s->batch, s->rows, 1, s->config.d_model);
    struct headwise_tensor y =
        headwise_tensor_brhc(s->y, HEADWISE_F32, s->batch, s->rows, 1, s->config.d_out);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &y, .x = &x, .head_gates = s->gates, .probe = &s->probe};
    if (headwise_mha_forward(context, mha, &call) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    guard_check();
}

void seed_run(enum headwise_isa isa, struct seed_layer *s) {
    headwise_context *context = seed_context(isa);
    headwise_mha *mha = seed_create(context, s);
    seed_forward(context, mha, s);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

void seed_expect_tensor(const struct seed_layer *s, const float *got, const char *name, int64_t n) {
    if (vector_find(s->file, name) != NULL)
        seed_expect(got, vector_f64(s->file, name, n), n, 0, name);
}

void seed_run_logits(enum headwise_isa isa, const float *logits, int64_t n, float *weights,
                     int64_t *strongest) {
    headwise_context *context = seed_context(isa);
    float *zeros = guard_plain((size_t)n, sizeof(float)), *out = guard_floats((size_t)n);
    const struct headwise_statistics statistics = {.size = sizeof(statistics),
                                                   .strongest = strongest};
    const struct headwise_probe probe = {
        .size = sizeof(probe), .weights = weights, .statistics = &statistics};
    struct headwise_tensor mask = headwise_tensor_bhrc(logits, HEADWISE_F32, 1, 1, n, n);
    struct headwise_tensor q = headwise_tensor_bhrc(zeros, HEADWISE_F32, 1, 1, n, 1);
    struct headwise_tensor y = headwise_tensor_bhrc(out, HEADWISE_F32, 1, 1, n, 1);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &y, .q = &q, .k = &q, .v = &q, .mask = &mask, .probe = &probe};
    assert_int_equal(headwise_attention(context, &call), HEADWISE_OK);
    headwise_context_destroy(context);
    guard_check();
}
