/* Layers with rotary and norms over a cache: each row stands at its place in its sequence. */
#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { DIM = 20, N_POSITIONS = 300 };

static const headwise_rotary *table;

static void make_layer(struct test_rng *rng, struct headwise_mha_config *config,
                       headwise_context *context) {
    const struct headwise_rotary_config rotary_config = {
        .size = sizeof(rotary_config), .rotary_dim = 16, .n_positions = N_POSITIONS};
    headwise_rotary *rotary = NULL;
    float *weight = guard_floats(DIM);
    cached_expect_ok(headwise_rotary_create(&rotary, context, &rotary_config), "rotary");
    test_rng_fill(rng, weight, DIM, 1);
    table = rotary;
    *config = (struct headwise_mha_config){.d_model = 48,
                                           .n_heads = 4,
                                           .n_kv_heads = 2,
                                           .head_dim = DIM,
                                           .value_dim = 9,
                                           .rotary = rotary,
                                           .k_norm = weight};
    layer_fill_weights(rng, config, true);
}

static headwise_cache *cache_of(headwise_context *context, const headwise_mha *mha,
                                int64_t n_sequences, int64_t capacity) {
    return cached_create(context, (struct headwise_cache_config){
                                      .n_sequences = n_sequences,
                                      .n_kv_heads = headwise_mha_describe(mha)->n_kv_heads,
                                      .head_dim = headwise_mha_describe(mha)->head_dim,
                                      .value_dim = headwise_mha_describe(mha)->value_dim,
                                      .capacity = capacity,
                                  });
}

static struct headwise_tensor new_output(const struct headwise_tensor *y) {
    return call_tensor(y->dtype, y->size[0], y->size[1], y->size[2], y->size[3], NULL);
}

/* What the chunks of x do: forward, or append and then attend. */
static void run_chunks(headwise_context *context, const headwise_mha *mha, headwise_cache *cache,
                       struct layer_call *call, int64_t chunk, bool in_two_steps) {
    int64_t n = call->x.size[0], rows = call->x.size[2];
    for (int64_t r = 0; r < rows; r += chunk) {
        int64_t count = rows - r < chunk ? rows - r : chunk;
        struct headwise_tensor x = cached_view(&call->x, 0, n, r, count);
        struct headwise_tensor y = cached_view(&call->y, 0, n, r, count);
        struct headwise_attention_call given = layer_call_arguments(call);
        if (in_two_steps)
            cached_expect_ok(cached_try_mha_append(context, mha, cache, 0, &x, &given), "append");
        given.attend_only = in_two_steps;
        cached_expect_ok(cached_try_forward(context, mha, &y, &x, cache, 0, &given), "forward");
    }
    guard_check();
}

static void any_chunks_give_the_same_bits(enum headwise_isa isa) {
    const int64_t chunks[] = {1, 7, 64, 300};
    struct headwise_mha_config config;
    struct test_rng rng = test_rng_make(420);
    headwise_context *context = cached_context(isa, 2, 0xff);
    make_layer(&rng, &config, context);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 2, 270, -1, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    layer_run_with(context, mha, &call);
    for (size_t c = 0; c < TEST_COUNT(chunks); c++)
        for (int two = 0; two < 2; two++) {
            headwise_cache *cache = cache_of(context, mha, 2, 270);
            struct layer_call chunked = call;
            chunked.y = new_output(&call.y);
            run_chunks(context, mha, cache, &chunked, chunks[c], two);
            cached_expect_same(&chunked.y, &call.y, two ? "append and attend" : "chunks");
            headwise_cache_destroy(cache);
        }
    headwise_mha_destroy(mha);
    headwise_rotary_destroy((headwise_rotary *)(uintptr_t)table);
    headwise_context_destroy(context);
}

/* Rows of one call at different positions, and positions that the caller gives. */
static void ragged_sequences_count_for_themselves(enum headwise_isa isa) {
    const int64_t lengths[] = {0, 5, 261};
    int64_t positions[3 * 7];
    struct headwise_mha_config config;
    struct test_rng rng = test_rng_make(421);
    headwise_context *context = cached_context(isa, 3, 0xff);
    make_layer(&rng, &config, context);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = cache_of(context, mha, 3, 270), *given = cache_of(context, mha, 3, 270);
    for (int64_t s = 0; s < 3; s++) {
        struct layer_call before = layer_call_make(&rng, &config, 1, lengths[s], -1, HEADWISE_F32);
        cached_expect_ok(cached_try_mha_append(context, mha, cache, s, &before.x, NULL), "append");
        cached_expect_ok(cached_try_mha_append(context, mha, given, s, &before.x, NULL), "append");
        for (int64_t r = 0; r < 7; r++)
            positions[s * 7 + r] = lengths[s] + r;
    }
    struct layer_call call = layer_call_make(&rng, &config, 3, 7, -1, HEADWISE_F32);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    for (int two = 0; two < 2; two++) {
        struct layer_call other = call;
        call.given.positions = positions;
        run_chunks(context, mha, given, &call, 7, two);
        other.y = new_output(&call.y);
        run_chunks(context, mha, cache, &other, 7, two);
        cached_expect_same(&other.y, &call.y, "places in the sequence");
        for (int64_t s = 0; s < 3; s++) {
            cached_expect_ok(headwise_cache_truncate(cache, s, lengths[s]), "truncate");
            cached_expect_ok(headwise_cache_truncate(given, s, lengths[s]), "truncate");
        }
    }
    headwise_cache_destroy(cache);
    headwise_cache_destroy(given);
    headwise_mha_destroy(mha);
    headwise_rotary_destroy((headwise_rotary *)(uintptr_t)table);
    headwise_context_destroy(context);
}

static void expect_refused(enum headwise_status status, const char *text) {
    assert_int_equal(status, HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(), text);
}

static void wrong_positions_change_nothing(enum headwise_isa isa) {
    const int64_t wrong[] = {0, N_POSITIONS};
    struct headwise_mha_config config;
    struct test_rng rng = test_rng_make(422);
    headwise_context *context = cached_context(isa, 1, 0xff);
    make_layer(&rng, &config, context);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = cache_of(context, mha, 1, 400);
    struct layer_call all = layer_call_make(&rng, &config, 1, N_POSITIONS - 1, -1, HEADWISE_F32);
    struct layer_call two = layer_call_make(&rng, &config, 1, 2, -1, HEADWISE_F32);
    struct headwise_attention_call given = cached_given(NULL);
    given.attend_only = true;
    expect_refused(
        cached_try_forward(context, mha, &two.y, &two.x, cache, 0, &given),
        "mha_forward: rows stand at positions -2 to -1, expected 0 to 299, the end of the "
        "table");
    cached_expect_ok(cached_try_mha_append(context, mha, cache, 0, &all.x, NULL), "append");
    expect_refused(cached_try_mha_append(context, mha, cache, 0, &two.x, NULL),
                   "mha_append: rows stand at positions 299 to 300, expected 0 to 299, the end of "
                   "the table");
    expect_refused(
        cached_try_forward(context, mha, &two.y, &two.x, cache, 0, NULL),
        "mha_forward: rows stand at positions 299 to 300, expected 0 to 299, the end of the "
        "table");
    given.attend_only = false;
    given.positions = wrong;
    expect_refused(cached_try_mha_append(context, mha, cache, 0, &two.x, &given),
                   "mha_append: positions[0][1] is 300, expected 0 to 299");
    expect_refused(cached_try_forward(context, mha, &two.y, &two.x, cache, 0, &given),
                   "mha_forward: positions[0][1] is 300, expected 0 to 299");
    assert_int_equal(headwise_cache_length(cache, 0), N_POSITIONS - 1);
    guard_expect_untouched(two.y.data, 2 * 48 * sizeof(float), "y");
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_rotary_destroy((headwise_rotary *)(uintptr_t)table);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_chunks_give_the_same_bits),
        TEST_CASE(ragged_sequences_count_for_themselves),
        TEST_CASE(wrong_positions_change_nothing),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
