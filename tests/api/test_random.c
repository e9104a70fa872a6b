/* Random calls: every option in random combinations against the oracle. */
#include <math.h>

#include "call.h"
#include "guard.h"
#include "half.h"
#include "runner.h"

enum { N_CALLS = 600 };

struct random_call {
    struct call call;
    struct headwise_tensor mask, past_key, past_value, present_key, present_value;
    int64_t offsets[3], lengths[3];
    float gates[3 * 8], sinks[8], slopes[8], bias[8 * (2 * 20 + 1)];
};

static bool chance(struct test_rng *rng, int64_t one_in) {
    return test_rng_below(rng, one_in) == 0;
}

static enum headwise_dtype random_type(struct test_rng *rng) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    return chance(rng, 2) ? HEADWISE_F32 : types[test_rng_below(rng, 3)];
}

static struct call_shape random_shape(struct test_rng *rng) {
    int64_t kv_heads = 1 + test_rng_below(rng, 2);
    struct call_shape s = {1 + test_rng_below(rng, 3),
                           kv_heads * (1 + test_rng_below(rng, 4)),
                           kv_heads,
                           test_rng_below(rng, chance(rng, 4) ? 60 : 6),
                           test_rng_below(rng, chance(rng, 3) ? 600 : 40),
                           1 + test_rng_below(rng, 40),
                           1 + test_rng_below(rng, 40)};
    return s;
}

static void add_mask(struct random_call *r, struct test_rng *rng) {
    const struct call_shape *s = &r->call.shape;
    int64_t keys = call_keys(&r->call);
    enum headwise_dtype dtype = chance(rng, 2) ? HEADWISE_BOOL : random_type(rng);
    bool whole_row = chance(rng, 6);
    int64_t columns = whole_row ? 1 : chance(rng, 4) ? test_rng_below(rng, keys + 1) : keys;
    r->mask = call_tensor(dtype, chance(rng, 2) ? 1 : s->batch, chance(rng, 2) ? 1 : s->heads,
                          chance(rng, 2) ? 1 : s->queries, columns, NULL);
    const int64_t *n = r->mask.size;
    for (int64_t i = 0; i < n[0] * n[1] * n[2] * n[3]; i++) {
        double x = (double)test_rng_float(rng) * 3;
        if (dtype == HEADWISE_BOOL)
            x = !chance(rng, 3);
        else if (chance(rng, 4))
            x = -(double)INFINITY;
        half_store(dtype, r->mask.data, i, x);
    }
    if (whole_row)
        r->mask.stride[3] = 0;
    r->call.given.mask = &r->mask;
}

static void add_past(struct random_call *r, struct test_rng *rng) {
    const struct call_shape *s = &r->call.shape;
    int64_t n = test_rng_below(rng, chance(rng, 3) ? 300 : 10);
    r->past_key = call_tensor(r->call.k.dtype, s->batch, s->kv_heads, n, s->dim, NULL);
    r->past_value = call_tensor(r->call.v.dtype, s->batch, s->kv_heads, n, s->value_dim, NULL);
    call_fill(rng, &r->past_key, 1);
    call_fill(rng, &r->past_value, 1);
    r->call.given.past_key = &r->past_key;
    r->call.given.past_value = &r->past_value;
}

static void add_positions(struct random_call *r, struct test_rng *rng) {
    struct headwise_attention_options *o = &r->call.options;
    struct headwise_attention_call *g = &r->call.given;
    int64_t keys = call_keys(&r->call);
    o->causal = (enum headwise_causal)test_rng_below(rng, 3);
    for (int b = 0; b < 3; b++) {
        r->offsets[b] = test_rng_below(rng, keys + 20) - 10;
        r->lengths[b] = test_rng_below(rng, keys + 1);
    }
    if (chance(rng, 4))
        g->query_offsets = r->offsets;
    if (chance(rng, 3))
        g->key_lengths = r->lengths;
    o->window_is_set = chance(rng, 3);
    o->window_left = test_rng_below(rng, chance(rng, 2) ? 300 : 8) - 1;
    o->window_right = test_rng_below(rng, 8) - 1;
    o->window_first = chance(rng, 2) ? test_rng_below(rng, chance(rng, 3) ? 300 : 6) : 0;
}

static void add_biases(struct random_call *r, struct test_rng *rng) {
    struct headwise_attention_options *o = &r->call.options;
    for (int h = 0; h < 8; h++)
        r->sinks[h] = chance(rng, 8) ? -INFINITY : test_rng_float(rng) * 10;
    test_rng_fill(rng, r->slopes, 8, 0.5f);
    test_rng_fill(rng, r->bias, TEST_COUNT(r->bias), 4);
    if (chance(rng, 3))
        o->sinks = r->sinks;
    if (chance(rng, 5))
        o->alibi_slopes = r->slopes;
    if (chance(rng, 5))
        o->relative_bias = r->bias;
    o->relative_reach = test_rng_below(rng, 21);
}

static void add_numbers(struct random_call *r, struct test_rng *rng) {
    struct headwise_attention_options *o = &r->call.options;
    struct headwise_attention_call *g = &r->call.given;
    o->scale_is_set = chance(rng, 3);
    o->scale = test_rng_float(rng) * 2;
    o->softcap = chance(rng, 4) ? 0.5f + fabsf(test_rng_float(rng)) * 30 : 0;
    o->softmax_precision = chance(rng, 5) ? random_type(rng) : HEADWISE_F32;
    if (chance(rng, 4)) {
        for (int i = 0; i < 3 * 8; i++)
            r->gates[i] = chance(rng, 3) ? 0 : test_rng_float(rng);
        g->head_gates = r->gates;
        g->gate_batch_stride = chance(rng, 2) ? 0 : r->call.shape.heads;
    }
    if (chance(rng, 2))
        call_probe(&r->call, (unsigned)test_rng_below(rng, CALL_ALL + 1),
                   (enum headwise_score_stage)test_rng_below(rng, 4));
}

static void expect_random_call(enum headwise_isa isa, struct test_rng *rng) {
    struct random_call r = {0};
    struct call_shape shape = random_shape(rng);
    r.call = call_make(rng, &shape, random_type(rng), 0);
    r.call.y = call_tensor(random_type(rng), shape.batch, shape.heads, shape.queries,
                           shape.value_dim, NULL);
    if (chance(rng, 2))
        call_fill(rng, &r.call.q, 8); /* peaky */
    if (chance(rng, 3))
        add_past(&r, rng);
    if (chance(rng, 2))
        add_mask(&r, rng);
    add_positions(&r, rng);
    add_biases(&r, rng);
    add_numbers(&r, rng);
    call_expect_oracle(isa, &r.call);
    guard_reset();
}

static void random_calls_match_the_oracle(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(161);
    for (int i = 0; i < N_CALLS / test_share(); i++)
        expect_random_call(isa, &rng);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(random_calls_match_the_oracle)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
