/* A layer over a cache: prompts in any chunks, cross attention, and what a failure leaves. */
#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

static struct headwise_mha_config grouped_layer(struct test_rng *rng) {
    struct headwise_mha_config config = {
        .d_model = 48, .n_heads = 4, .n_kv_heads = 2, .head_dim = 20, .value_dim = 9};
    layer_fill_weights(rng, &config, true);
    return config;
}

static headwise_cache *cache_of(headwise_context *context, const headwise_mha *mha,
                                int64_t n_sequences, int64_t capacity, enum headwise_dtype dtype) {
    return cached_create(context, (struct headwise_cache_config){
                                      .n_sequences = n_sequences,
                                      .n_kv_heads = headwise_mha_describe(mha)->n_kv_heads,
                                      .head_dim = headwise_mha_describe(mha)->head_dim,
                                      .value_dim = headwise_mha_describe(mha)->value_dim,
                                      .capacity = capacity,
                                      .dtype = dtype,
                                  });
}

/* The rows of call->x in chunks, into call->y. */
static void run_chunks(headwise_context *context, const headwise_mha *mha, headwise_cache *cache,
                       int64_t sequence, struct layer_call *call, int64_t chunk) {
    int64_t n = call->x.size[0], rows = call->x.size[2];
    for (int64_t r = 0; r < rows; r += chunk) {
        int64_t count = rows - r < chunk ? rows - r : chunk;
        struct headwise_tensor x = cached_view(&call->x, 0, n, r, count);
        struct headwise_tensor y = cached_view(&call->y, 0, n, r, count);
        struct headwise_attention_call given = layer_call_arguments(call);
        cached_expect_ok(cached_try_forward(context, mha, &y, &x, cache, sequence, &given),
                         "forward");
    }
    guard_check();
}

static struct headwise_tensor new_output(const struct headwise_tensor *y) {
    return call_tensor(y->dtype, y->size[0], y->size[1], y->size[2], y->size[3], NULL);
}

static void any_chunks_give_the_same_bits(enum headwise_isa isa) {
    const int64_t chunks[] = {1, 2, 31, 64, 290, 1000};
    struct test_rng rng = test_rng_make(410);
    struct headwise_mha_config config = grouped_layer(&rng);
    struct layer_call call = layer_call_make(&rng, &config, 2, 300, -1, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    for (size_t c = 0; c < TEST_COUNT(chunks); c++) {
        headwise_context *context = cached_context(isa, cached_threads(chunks[c], (int)c), 0xff);
        headwise_mha *mha = layer_create(context, &config);
        headwise_cache *cache = cache_of(context, mha, 2, 300, HEADWISE_F32);
        layer_run_with(context, mha, &call);
        struct layer_call chunked = call;
        chunked.y = new_output(&call.y);
        run_chunks(context, mha, cache, 0, &chunked, chunks[c]);
        cached_expect_same(&chunked.y, &call.y, "chunks");
        headwise_cache_destroy(cache);
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
    }
}

/* Sequences of different lengths in one call: the same as each of them alone. */
static void ragged_sequences_are_on_their_own(enum headwise_isa isa) {
    const int64_t lengths[] = {0, 5, 261};
    struct test_rng rng = test_rng_make(411);
    struct headwise_mha_config config = grouped_layer(&rng);
    headwise_context *context = cached_context(isa, 3, 0xff);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = cache_of(context, mha, 4, 270, HEADWISE_F16);
    headwise_cache *alone = cache_of(context, mha, 4, 270, HEADWISE_F16);
    for (int64_t s = 0; s < 3; s++) {
        struct layer_call before = layer_call_make(&rng, &config, 1, lengths[s], -1, HEADWISE_F32);
        cached_expect_ok(cached_try_mha_append(context, mha, cache, 1 + s, &before.x, NULL),
                         "append");
        cached_expect_ok(cached_try_mha_append(context, mha, alone, 1 + s, &before.x, NULL),
                         "append");
    }
    struct layer_call call = layer_call_make(&rng, &config, 3, 7, -1, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    run_chunks(context, mha, cache, 1, &call, 7);
    for (int64_t s = 0; s < 3; s++) {
        struct layer_call one = call;
        one.x = cached_view(&call.x, s, 1, 0, 7);
        one.y = new_output(&one.x);
        run_chunks(context, mha, alone, 1 + s, &one, 1);
        struct headwise_tensor want = cached_view(&call.y, s, 1, 0, 7);
        cached_expect_same(&one.y, &want, "alone");
        assert_int_equal(headwise_cache_length(cache, 1 + s), lengths[s] + 7);
    }
    assert_int_equal(headwise_cache_length(cache, 0), 0);
    headwise_cache_destroy(cache);
    headwise_cache_destroy(alone);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Cross attention: the memory is projected once, in chunks, and asked several times. */
static void cross_attention_keeps_its_memory(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(412);
    struct headwise_mha_config config = {.d_model = 24, .d_memory = 40, .n_heads = 3, .d_out = 17};
    layer_fill_weights(&rng, &config, true);
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = cache_of(context, mha, 2, 400, HEADWISE_F32);
    struct layer_call call = layer_call_make(&rng, &config, 2, 11, 391, HEADWISE_F32);
    for (int64_t r = 0; r < 391; r += 100) {
        struct headwise_tensor part = cached_view(&call.memory, 0, 2, r, r + 100 > 391 ? 91 : 100);
        cached_expect_ok(cached_try_mha_append(context, mha, cache, 0, &part, NULL), "append");
    }
    layer_run_with(context, mha, &call);
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    struct headwise_attention_call attend = cached_given(NULL);
    attend.attend_only = true;
    for (int64_t chunk = 1; chunk <= 11; chunk += 5) {
        struct headwise_tensor got = new_output(&call.y);
        for (int64_t r = 0; r < 11; r += chunk) {
            int64_t n = 11 - r < chunk ? 11 - r : chunk;
            struct headwise_tensor x = cached_view(&call.x, 0, 2, r, n);
            struct headwise_tensor y = cached_view(&got, 0, 2, r, n);
            cached_expect_ok(cached_try_forward(context, mha, &y, &x, cache, 0, &attend), "attend");
        }
        cached_expect_same(&got, &call.y, "attend");
    }
    assert_int_equal(headwise_cache_length(cache, 0), 391);
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

static void expect_held(const headwise_cache *got, const headwise_cache *want, int64_t sequence) {
    struct headwise_tensor k[2], v[2];
    assert_int_equal(headwise_cache_length(got, sequence), headwise_cache_length(want, sequence));
    cached_read(got, sequence, 0, &k[0], &v[0]);
    cached_read(want, sequence, 0, &k[1], &v[1]);
    cached_expect_same(&k[0], &k[1], "keys");
    cached_expect_same(&v[0], &v[1], "values");
}

/* Rows of several sequences in one append: what one append for each sequence gives. The positions
 * of rotary are the rows' places in their own sequences. */
static void packed_rows_go_to_their_sequences(enum headwise_isa isa) {
    const int32_t starts[] = {1, 1, 30, 31, 70}; /* rows 0 and 70 belong to none */
    const int64_t sequences[] = {3, 0, 4, 1};
    struct test_rng rng = test_rng_make(414);
    headwise_context *context = cached_context(isa, 3, 0xff);
    headwise_rotary *rotary = NULL;
    const struct headwise_rotary_config table = {
        .size = sizeof(table), .rotary_dim = 20, .n_positions = 300};
    cached_expect_ok(headwise_rotary_create(&rotary, context, &table), "rotary");
    for (int rotates = 0; rotates < 2; rotates++) {
        struct headwise_mha_config config = grouped_layer(&rng);
        config.rotary = rotates ? rotary : NULL;
        headwise_mha *mha = layer_create(context, &config);
        headwise_cache *packed = cache_of(context, mha, 5, 300, HEADWISE_F32);
        headwise_cache *single = cache_of(context, mha, 5, 300, HEADWISE_F32);
        struct layer_call call = layer_call_make(&rng, &config, 1, 71, -1, HEADWISE_F32);
        struct headwise_attention_call given = {.size = sizeof(given),
                                                .memory = &call.x,
                                                .cache = packed,
                                                .n_sequences = 4,
                                                .query_starts = starts,
                                                .cache_sequences = sequences};
        for (int round = 0; round < 2; round++)
            cached_expect_ok(headwise_mha_append(context, mha, &given), "packed");
        for (int i = 0; i < 8; i++) {
            struct headwise_tensor rows =
                cached_view(&call.x, 0, 1, starts[i % 4], starts[i % 4 + 1] - starts[i % 4]);
            cached_expect_ok(
                cached_try_mha_append(context, mha, single, sequences[i % 4], &rows, NULL), "one");
        }
        for (int64_t s = 0; s < 5; s++)
            expect_held(packed, single, s);
        assert_int_equal(headwise_cache_length(packed, 1), 2 * 39);
        headwise_cache_destroy(packed);
        headwise_cache_destroy(single);
        headwise_mha_destroy(mha);
    }
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
}

/* Contributions and the other outputs of the probe, against a call without a cache. */
static void the_probe_sees_the_same(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(413);
    struct headwise_mha_config config = grouped_layer(&rng);
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = cache_of(context, mha, 2, 300, HEADWISE_F32);
    struct layer_call call = layer_call_make(&rng, &config, 2, 280, -1, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    layer_run_with(context, mha, &call);
    struct layer_call cached = call;
    cached.y = new_output(&call.y);
    layer_call_probe(&cached, HEADWISE_SCORES_MASKED);
    run_chunks(context, mha, cache, 0, &cached, 280);
    size_t rows = 2 * 4 * 280;
    compare_same_bits(cached.probe.weights, call.probe.weights, rows * 280, "weights");
    compare_same_bits(cached.probe.scores, call.probe.scores, rows * 280, "scores");
    compare_same_bits(cached.probe.lse, call.probe.lse, rows, "lse");
    compare_same_bits(cached.probe.contributions, call.probe.contributions, rows * 48,
                      "contributions");
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_chunks_give_the_same_bits),    TEST_CASE(ragged_sequences_are_on_their_own),
        TEST_CASE(cross_attention_keeps_its_memory), TEST_CASE(packed_rows_go_to_their_sequences),
        TEST_CASE(the_probe_sees_the_same),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
