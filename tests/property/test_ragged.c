/* Ragged batches: every sequence has the bits that it has alone, whatever comes with it and
 * whoever computes it, from tensors and from a cache. */
#include <math.h>

#include "guard.h"
#include "ragged.h"
#include "runner.h"

enum { N_CALLS = 60, MOST_HEADS = 8 };

static const int thread_counts[] = {1, 2, 3, 7};

/* What options of a random call point to. */
struct numbers {
    int64_t offsets[RAGGED_MOST], lengths[RAGGED_MOST];
    float gates[RAGGED_MOST * MOST_HEADS], sinks[MOST_HEADS], slopes[MOST_HEADS];
    float bias[MOST_HEADS * (2 * 20 + 1)];
};

static bool chance(struct test_rng *rng, int64_t one_in) {
    return test_rng_below(rng, one_in) == 0;
}

static enum headwise_dtype random_type(struct test_rng *rng) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    return chance(rng, 2) ? HEADWISE_F32 : types[test_rng_below(rng, 3)];
}

/* Mostly short ones; 0 and 1 often. */
static int64_t random_length(struct test_rng *rng, int64_t most) {
    int64_t limits[] = {2, 2, 20, 20, most};
    return test_rng_below(rng, limits[test_rng_below(rng, 5)] + 1);
}

static struct ragged_call random_ragged(struct test_rng *rng) {
    int64_t queries[RAGGED_MOST], keys[RAGGED_MOST], n = test_rng_below(rng, RAGGED_MOST + 1);
    int64_t kv_heads = 1 + test_rng_below(rng, 2), kind = test_rng_below(rng, 3);
    for (int64_t b = 0; b < n; b++) {
        queries[b] = kind == 0 ? test_rng_below(rng, 2) : random_length(rng, 300);
        keys[b] = kind == 1 ? queries[b] : random_length(rng, kind == 0 ? 2000 : 600);
    }
    struct call_shape shape = {.heads = kv_heads * (1 + test_rng_below(rng, 4)),
                               .kv_heads = kv_heads,
                               .dim = 1 + test_rng_below(rng, 40),
                               .value_dim = 1 + test_rng_below(rng, 40)};
    return ragged_make(rng, shape, random_type(rng), n, queries, keys, chance(rng, 2));
}

static void add_positions(struct test_rng *rng, struct ragged_call *ragged, struct numbers *n) {
    struct headwise_attention_options *o = &ragged->call.options;
    struct headwise_attention_call *g = &ragged->call.given;
    o->causal = (enum headwise_causal)test_rng_below(rng, 3);
    for (int64_t b = 0; b < ragged->n; b++) {
        int64_t keys = ragged->key_starts[b + 1] - ragged->key_starts[b];
        n->offsets[b] = test_rng_below(rng, keys + 20) - 10;
        n->lengths[b] = test_rng_below(rng, keys + 1);
    }
    g->query_offsets = chance(rng, 4) ? n->offsets : NULL;
    g->key_lengths = chance(rng, 3) ? n->lengths : NULL;
    o->window_is_set = chance(rng, 3);
    o->window_left = test_rng_below(rng, chance(rng, 2) ? 300 : 8) - 1;
    o->window_right = test_rng_below(rng, 8) - 1;
    o->window_first = chance(rng, 2) ? test_rng_below(rng, 6) : 0;
}

static void add_biases(struct test_rng *rng, struct ragged_call *ragged, struct numbers *n) {
    struct headwise_attention_options *o = &ragged->call.options;
    struct headwise_attention_call *g = &ragged->call.given;
    test_rng_fill(rng, n->sinks, MOST_HEADS, 10);
    test_rng_fill(rng, n->slopes, MOST_HEADS, 0.5f);
    test_rng_fill(rng, n->bias, TEST_COUNT(n->bias), 4);
    for (size_t i = 0; i < TEST_COUNT(n->gates); i++)
        n->gates[i] = chance(rng, 3) ? 0 : test_rng_float(rng);
    o->sinks = chance(rng, 3) ? n->sinks : NULL;
    o->alibi_slopes = chance(rng, 4) ? n->slopes : NULL;
    o->relative_bias = chance(rng, 5) ? n->bias : NULL;
    o->relative_reach = test_rng_below(rng, 21);
    o->softcap = chance(rng, 4) ? 0.5f + fabsf(test_rng_float(rng)) * 30 : 0;
    o->softmax_precision = chance(rng, 5) ? random_type(rng) : HEADWISE_F32;
    o->scale_is_set = chance(rng, 3);
    o->scale = test_rng_float(rng) * 20;
    g->head_gates = chance(rng, 3) ? n->gates : NULL;
    g->gate_batch_stride = chance(rng, 2) ? 0 : ragged->call.shape.heads;
}

static int64_t n_cached; /* calls over a cache */

static bool stands_as_over_a_cache(const struct ragged_call *ragged) {
    const struct headwise_attention_options *o = &ragged->call.options;
    const struct headwise_attention_call *g = &ragged->call.given;
    return o->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT || g->query_offsets != NULL;
}

static void expect_each(const struct ragged_call *ragged, const struct ragged_call *alone) {
    for (int64_t b = 0; b < ragged->n; b++)
        ragged_expect_same(ragged, b, &alone[b]);
    ragged_expect_outside_untouched(ragged);
}

static void expect_alone(enum headwise_isa isa, struct ragged_call *ragged) {
    struct ragged_call alone[RAGGED_MOST];
    headwise_context *context = call_context(isa, 1);
    for (int64_t b = 0; b < ragged->n; b++) {
        alone[b] = ragged_alone(ragged, b);
        ragged_run_alone(context, &alone[b]);
    }
    headwise_context_destroy(context);
    for (size_t t = 0; t < TEST_COUNT(thread_counts); t++) {
        context = call_context(isa, thread_counts[t]);
        ragged_new_outputs(ragged);
        ragged_run_with(context, ragged);
        expect_each(ragged, alone);
        if (stands_as_over_a_cache(ragged)) {
            ragged_new_outputs(ragged);
            ragged_run_cached(context, ragged);
            expect_each(ragged, alone);
            n_cached++;
        }
        headwise_context_destroy(context);
    }
}

static void sequences_have_the_bits_they_have_alone(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(321);
    for (int64_t i = 0; i < N_CALLS / test_share(); i++) {
        struct numbers numbers;
        struct ragged_call ragged = random_ragged(&rng);
        add_positions(&rng, &ragged, &numbers);
        add_biases(&rng, &ragged, &numbers);
        if (chance(&rng, 2))
            ragged_probe(&ragged, (unsigned)test_rng_below(&rng, CALL_ALL + 1), chance(&rng, 3),
                         (enum headwise_score_stage)test_rng_below(&rng, 4));
        expect_alone(isa, &ragged);
        guard_reset();
    }
    assert_true(n_cached > 0);
}

/* Enough work to wake threads, in one sequence or in a few: their tiles and keys are shared out. */
static void long_sequences_are_shared(enum headwise_isa isa) {
    static const int64_t queries[][4] = {{1, 1, 1, 1}, {700, 1, 0, 3}, {2, 900, 40, 1}};
    static const int64_t keys[][4] = {{9000, 3, 0, 200}, {700, 900, 5, 0}, {3000, 900, 40, 4}};
    struct test_rng rng = test_rng_make(322);
    for (int64_t i = 0; i < 3 * 2 * 3; i += test_share()) {
        const struct call_shape shape = {
            .heads = i / 3 % 2 + 1, .kv_heads = 1, .dim = 32, .value_dim = 24};
        struct ragged_call ragged =
            ragged_make(&rng, shape, HEADWISE_F32, 4, queries[i % 3], keys[i % 3], true);
        ragged.call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        if (i >= 6)
            ragged_probe(&ragged, i < 12 ? CALL_LSE : CALL_WEIGHTS | CALL_SCORES, i >= 12,
                         HEADWISE_SCORES_MASKED);
        expect_alone(isa, &ragged);
        guard_reset();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(sequences_have_the_bits_they_have_alone),
        TEST_CASE(long_sequences_are_shared),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
