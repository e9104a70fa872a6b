/* Ragged batches against the reference, and their edges. That every sequence has the bits it has
 * alone is shown in tests/property/test_ragged.c. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "ragged.h"
#include "runner.h"

static void run(enum headwise_isa isa, struct ragged_call *ragged) {
    headwise_context *context = call_context(isa, 2);
    ragged_run_with(context, ragged);
    headwise_context_destroy(context);
}

static void expect_reference(enum headwise_isa isa, struct ragged_call *ragged) {
    run(isa, ragged);
    for (int64_t b = 0; b < ragged->n; b++) {
        struct ragged_call alone = ragged_alone(ragged, b);
        struct headwise_tensor y = ragged_rows(&ragged->call.y, ragged->query_starts, b);
        oracle_expect(call_oracle(&alone.call), &y, NULL);
    }
}

static void sequences_match_the_reference(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    static const int64_t queries[] = {5, 0, 1, 40, 3}, keys[] = {9, 7, 300, 40, 0};
    struct test_rng rng = test_rng_make(171);
    for (int i = 0; i < 3 * 3 * 2; i++) {
        const struct call_shape shape = {.heads = 6, .kv_heads = 2, .dim = 20, .value_dim = 11};
        struct ragged_call ragged =
            ragged_make(&rng, shape, types[i % 3], 5, queries, keys, i % 2 == 0);
        struct headwise_attention_options *o = &ragged.call.options;
        o->causal = (enum headwise_causal)(i / 3 % 3);
        o->window_is_set = i >= 9;
        o->window_left = 12;
        o->window_right = -1;
        o->softcap = i >= 9 ? 2.0f : 0.0f;
        expect_reference(isa, &ragged);
        guard_reset();
    }
}

/* Queries without keys; keys without queries; nothing at all. */
static void empty_sequences(enum headwise_isa isa) {
    static const int64_t queries[] = {2, 0, 0, 1}, keys[] = {0, 5, 0, 1};
    const float sinks[] = {0.5f, -INFINITY};
    struct test_rng rng = test_rng_make(172);
    const struct call_shape shape = {.heads = 2, .kv_heads = 1, .dim = 4, .value_dim = 4};
    struct ragged_call ragged = ragged_make(&rng, shape, HEADWISE_F32, 4, queries, keys, true);
    ragged.call.options.sinks = sinks;
    ragged_probe(&ragged, CALL_ALL, true, HEADWISE_SCORES_WEIGHTS);
    run(isa, &ragged);
    int64_t rows = ragged.call.shape.queries, first = ragged.query_starts[0];
    for (int64_t h = 0; h < 2; h++)
        for (int64_t r = first; r < first + 2; r++) {
            const float *y = ragged.call.y.data;
            for (int64_t c = 0; c < 4; c++)
                assert_true(y[(r * 2 + h) * 4 + c] == 0.0f);
            assert_true(ragged.call.probe.lse[h * rows + r] == sinks[h]);
            assert_int_equal(ragged.statistics.strongest[h * rows + r], -1);
        }
    assert_int_equal(ragged.statistics.strongest[first + 2], 0);
    ragged_expect_outside_untouched(&ragged);
}

static void no_sequences(enum headwise_isa isa) {
    const int64_t none = 0;
    struct test_rng rng = test_rng_make(173);
    const struct call_shape shape = {.heads = 2, .kv_heads = 1, .dim = 4, .value_dim = 4};
    struct ragged_call ragged = ragged_make(&rng, shape, HEADWISE_F32, 0, &none, &none, true);
    run(isa, &ragged);
    guard_expect_untouched(ragged.call.y.data, (size_t)(5 * 2 * 4) * sizeof(float), "y");
}

/* Self attention needs one list of starts. */
static void key_starts_may_be_left_out(enum headwise_isa isa) {
    static const int64_t lengths[] = {7, 0, 30};
    struct test_rng rng = test_rng_make(174);
    const struct call_shape shape = {.heads = 2, .kv_heads = 2, .dim = 8, .value_dim = 8};
    struct ragged_call both = ragged_make(&rng, shape, HEADWISE_F32, 3, lengths, lengths, false);
    struct ragged_call one = both;
    ragged_new_outputs(&one);
    run(isa, &both);
    struct headwise_attention_call arguments = ragged_arguments(&one);
    arguments.key_starts = NULL;
    headwise_context *context = call_context(isa, 1);
    assert_int_equal(headwise_attention(context, &arguments), HEADWISE_OK);
    headwise_context_destroy(context);
    call_expect_same(&one.call, &both.call, "one list of starts");
}

/* More sequences than a task is worth: many share a thread's turn, none is lost. */
static void thousands_of_sequences(enum headwise_isa isa) {
    enum { N = 3000, HEADS = 3, DIM = 5 };
    int32_t *starts = guard_alloc((N + 1) * sizeof(*starts), 0);
    struct test_rng rng = test_rng_make(175);
    starts[0] = 0;
    for (int b = 0; b < N; b++)
        starts[b + 1] = starts[b] + (int32_t)test_rng_below(&rng, 4);
    const struct call_shape shape = {1, HEADS, 1, starts[N], starts[N], DIM, DIM};
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.given.n_sequences = N;
    call.given.query_starts = starts;
    headwise_context *context = call_context(isa, 2);
    call_run_with(context, &call);
    for (int b = 0; b < N; b += 37) {
        struct headwise_tensor q = ragged_rows(&call.q, starts, b);
        struct headwise_tensor k = ragged_rows(&call.k, starts, b);
        struct headwise_tensor v = ragged_rows(&call.v, starts, b);
        struct headwise_tensor y = ragged_rows(&call.y, starts, b);
        const struct headwise_attention_call alone = {
            .size = sizeof(alone), .q = &q, .k = &k, .v = &v};
        oracle_expect(oracle_attention(&alone), &y, NULL);
    }
    headwise_context_destroy(context);
}

/* Repeating a call allocates nothing. */
static void scratch_is_kept(enum headwise_isa isa) {
    static const int64_t queries[] = {300, 2, 1}, keys[] = {300, 2000, 0};
    struct test_rng rng = test_rng_make(176);
    const struct call_shape shape = {.heads = 2, .kv_heads = 1, .dim = 16, .value_dim = 16};
    struct ragged_call ragged = ragged_make(&rng, shape, HEADWISE_F32, 3, queries, keys, true);
    headwise_context *context = call_context(isa, 3);
    ragged_run_with(context, &ragged);
    size_t bytes = headwise_context_describe(context)->scratch_bytes;
    ragged_run_with(context, &ragged);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, bytes);
    /* No map of 300 x 300 or 2 x 2000 pairs for every head is in it. */
    assert_true(bytes < 3 * 1024 * 1024);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(sequences_match_the_reference),
        TEST_CASE(empty_sequences),
        TEST_CASE(no_sequences),
        TEST_CASE(key_starts_may_be_left_out),
        TEST_CASE(thousands_of_sequences),
        TEST_CASE(scratch_is_kept),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
