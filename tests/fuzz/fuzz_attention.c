/* libFuzzer target: any bytes as a call of the attention operator, good or bad. Both tiers answer
 * alike; what fails leaves its output; what passes differs by rounding alone. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "headwise/headwise.h"

enum {
    MOST_KEYS = 700, /* three blocks */
    MOST_QUERIES = 20,
    MOST_DIM = 40,
    MOST_HEADS = 4,
    MOST_BATCH = 2,
    RELATIVE_REACH = 3
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A call, what it points to, and the limits from which its error follows. */
struct scene {
    struct draw draw;
    int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
    struct headwise_tensor q, k, v, mask;
    struct headwise_attention_options options;
    struct headwise_attention_call call;
    float sinks[MOST_HEADS], slopes[MOST_HEADS], gates[MOST_BATCH * MOST_HEADS];
    float relative[MOST_HEADS * (2 * RELATIVE_REACH + 1)];
    int64_t lengths[MOST_BATCH], offsets[MOST_BATCH];
    double largest_score; /* of all terms of a score, in magnitude */
};

static void expect(bool holds) {
    if (!holds)
        abort();
}

static float *make(struct draw *draw, int64_t n) {
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    expect(x != NULL);
    draw_fill(draw, x, n);
    return x;
}

/* One of the usual values, or now and then one that is not allowed. */
static int64_t draw_odd(struct draw *draw, int64_t usual, int64_t odd) {
    return draw_below(draw, 32) == 31 ? odd : usual;
}

static void make_tensors(struct scene *s) {
    struct draw *d = &s->draw;
    s->batch = draw_below(d, MOST_BATCH + 1);
    s->kv_heads = 1 + draw_below(d, 2);
    s->heads = s->kv_heads * (1 + draw_below(d, 2));
    s->queries = draw_below(d, MOST_QUERIES + 1);
    s->keys = draw_below(d, 256) * (draw_below(d, 4) == 3 ? 3 : 1) % MOST_KEYS;
    s->dim = 1 + draw_below(d, MOST_DIM);
    s->value_dim = 1 + draw_below(d, MOST_DIM);
    float *q = make(d, s->batch * s->heads * s->queries * s->dim);
    float *k = make(d, s->batch * s->kv_heads * s->keys * s->dim);
    float *v = make(d, s->batch * s->kv_heads * s->keys * s->value_dim);
    s->q = headwise_tensor_bhrc(q, HEADWISE_F32, s->batch, s->heads, s->queries, s->dim);
    s->k = headwise_tensor_bhrc(k, HEADWISE_F32, s->batch, s->kv_heads, s->keys, s->dim);
    s->v = headwise_tensor_bhrc(v, HEADWISE_F32, s->batch, s->kv_heads, s->keys, s->value_dim);
    s->q.size[3] = draw_odd(d, s->dim, s->dim - 1);
    s->v.size[2] = draw_odd(d, s->keys, s->keys - 1);
    s->k.dtype = (enum headwise_dtype)draw_odd(d, HEADWISE_F32, 77);
    s->q.stride[1] = draw_odd(d, s->q.stride[1], -1);
}

static void make_options(struct scene *s) {
    struct draw *d = &s->draw;
    struct headwise_attention_options *o = &s->options;
    o->size = (size_t)draw_odd(d, sizeof *o, 5);
    o->causal = (enum headwise_causal)draw_odd(d, draw_below(d, 3), 9);
    o->softcap = draw_below(d, 4) == 1 ? 2.5f : 0;
    o->window_is_set = draw_below(d, 3) == 1;
    o->window_left = draw_odd(d, draw_below(d, 20) - 1, -2);
    o->window_right = draw_below(d, 20) - 1;
    o->window_first = draw_odd(d, draw_below(d, 4), -1);
    o->scale_is_set = draw_below(d, 4) == 1;
    o->scale = draw_odd(d, 0, 1) ? INFINITY : 0.5f;
    double scale = o->scale_is_set ? 0.5 : 1 / sqrt((double)s->dim);
    s->largest_score = scale * (double)s->dim;
    draw_fill(d, s->sinks, s->heads);
    draw_fill(d, s->slopes, s->heads);
    draw_fill(d, s->relative, s->heads * (2 * RELATIVE_REACH + 1));
    o->sinks = draw_below(d, 4) == 1 ? s->sinks : NULL;
    if (draw_below(d, 4) == 1) {
        o->alibi_slopes = s->slopes;
        s->largest_score += MOST_KEYS + 64; /* |p - j|, offsets being at most 64 */
    }
    if (draw_below(d, 4) == 1) {
        o->relative_bias = s->relative;
        o->relative_reach = draw_odd(d, RELATIVE_REACH, -1);
        s->largest_score += 1;
    }
}

static void make_mask(struct scene *s) {
    int64_t n = s->queries * s->keys, kind = draw_below(&s->draw, 4);
    float *added = make(&s->draw, n);
    uint8_t *allowed = (uint8_t *)added;
    for (int64_t i = 0; i < n && kind == 1; i++)
        allowed[i] = (uint8_t)(draw_below(&s->draw, 4) != 1);
    for (int64_t i = 0; i < n && kind == 2; i++)
        added[i] = draw_below(&s->draw, 4) == 1 ? -INFINITY : added[i];
    s->mask = headwise_tensor_bhrc(added, kind == 1 ? HEADWISE_BOOL : HEADWISE_F32, 1, 1,
                                   s->queries, s->keys);
    s->mask.size[2] = draw_odd(&s->draw, s->queries, s->queries + 1);
    s->call.mask = kind == 1 || kind == 2 ? &s->mask : NULL;
    s->largest_score += kind == 2;
}

static void make_call(struct scene *s) {
    struct draw *d = &s->draw;
    make_tensors(s);
    make_options(s);
    s->call = (struct headwise_attention_call){
        .size = (size_t)draw_odd(d, sizeof s->call, 3), .q = &s->q, .k = &s->k, .v = &s->v};
    s->call.options = draw_below(d, 4) == 1 ? NULL : &s->options;
    make_mask(s);
    for (int64_t b = 0; b < s->batch; b++) {
        s->lengths[b] = draw_odd(d, s->keys > 0 ? draw_below(d, 256) % (s->keys + 1) : 0, -1);
        s->offsets[b] = draw_below(d, 128) - 64;
    }
    s->call.key_lengths = draw_below(d, 3) == 1 ? s->lengths : NULL;
    s->call.query_offsets = draw_below(d, 3) == 1 ? s->offsets : NULL;
    draw_fill(d, s->gates, s->batch * s->heads);
    s->call.head_gates = draw_below(d, 4) == 1 ? s->gates : NULL;
    s->call.gate_batch_stride = s->heads;
}

/* How far a number of y may be from the exact one. Values, gates and their weighted mean are at
 * most 1. A score's terms sum to at most S in magnitude, with dim + 8 roundings: an error of
 * e = (dim + 8) u S, which moves every weight by a factor of at most exp(2 e); exponentials (4 u)
 * and the sums of numerators and of products (keys + 8 roundings) follow. Twice u is for tanh and
 * for terms that round on their way. */
static double bound(const struct scene *s) {
    double u = 0x1p-24, e = 2 * u * (double)(s->dim + 8) * s->largest_score;
    return expm1(2 * e) + 2 * u * (double)(s->keys + 16);
}

static float *run(enum headwise_status *status, struct scene *s, enum headwise_isa isa) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {.size = sizeof options, .isa = isa, .n_threads = 1};
    int64_t n = s->batch * s->heads * s->queries * s->value_dim;
    float *y = malloc((size_t)(n + 1) * sizeof *y);
    expect(y && !headwise_context_create(&context, &options));
    memset(y, 0x5a, (size_t)(n + 1) * sizeof *y);
    struct headwise_tensor out =
        headwise_tensor_bhrc(y, HEADWISE_F32, s->batch, s->heads, s->queries, s->value_dim);
    s->call.y = &out;
    *status = headwise_attention(context, &s->call);
    const unsigned char *raw = (const unsigned char *)y;
    for (int64_t i = *status ? 0 : 4 * n; i < 4 * (n + 1); i++)
        expect(raw[i] == 0x5a);
    expect(!*status || headwise_last_error()[0] != '\0');
    headwise_context_destroy(context);
    return y;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct scene s = {.draw = {bytes, size, 1}};
    enum headwise_status status, other;
    make_call(&s);
    float *y = run(&status, &s, HEADWISE_ISA_SCALAR);
    float *z = run(&other, &s, headwise_isa_best());
    expect(status == other);
    int64_t n = status ? 0 : s.batch * s.heads * s.queries * s.value_dim;
    for (int64_t i = 0; i < n; i++)
        expect(fabs((double)y[i] - (double)z[i]) <= 2 * bound(&s));
    free(y);
    free(z);
    free(s.q.data);
    free(s.k.data);
    free(s.v.data);
    free(s.mask.data);
    return 0;
}
