/* A cache without room: a status, and not one bit of the cache or of an output has changed. */
#include <string.h>

#include "cached.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { CAPACITY = 300, ROWS = 5 };

static void expect_full(enum headwise_status status, const char *text) {
    assert_int_equal(status, HEADWISE_ERR_FULL);
    assert_string_equal(headwise_last_error(), text);
}

static struct headwise_mha_config small_layer(struct test_rng *rng) {
    struct headwise_mha_config config = {.d_model = 12, .n_heads = 2, .value_dim = 4};
    layer_fill_weights(rng, &config, false);
    return config;
}

/* Three sequences; the last one has room for ROWS - 1 rows. */
static headwise_cache *nearly_full(headwise_context *context, enum headwise_dtype dtype,
                                   struct test_rng *rng) {
    struct headwise_cache_config config = {.n_sequences = 3,
                                           .n_kv_heads = 2,
                                           .head_dim = 6,
                                           .value_dim = 4,
                                           .capacity = CAPACITY,
                                           .dtype = dtype};
    headwise_cache *cache = cached_create(context, config);
    for (int64_t s = 0; s < 3; s++) {
        int64_t n = s == 2 ? CAPACITY - ROWS + 1 : 7 * s;
        struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 2, n, 6, NULL);
        struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, 2, n, 4, NULL);
        call_fill(rng, &k, 1);
        call_fill(rng, &v, 1);
        cached_append(context, cache, s, &k, &v, n + 1);
    }
    return cache;
}

static void a_full_sequence_stops_the_whole_append(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    static const char text[] = "cache_append: sequence 2 holds 296 keys and has room for 4 more, "
                               "not 5";
    struct test_rng rng = test_rng_make(450);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        headwise_context *context = cached_context(isa, 1, 0xff);
        headwise_cache *cache = nearly_full(context, types[t], &rng);
        struct cached_memory kept = cached_memory_of(context, cache);
        void *before = cached_snapshot(&kept);
        struct headwise_tensor k = call_tensor(HEADWISE_F32, 3, 2, ROWS, 6, NULL);
        struct headwise_tensor v = call_tensor(HEADWISE_F32, 3, 2, ROWS, 4, NULL);
        call_fill(&rng, &k, 1);
        call_fill(&rng, &v, 1);
        expect_full(cached_try_append(context, cache, 0, &k, &v), text);
        cached_expect_unchanged(&kept, before, "append");
        /* One row less fits, and then there is room for none. */
        k.size[2] = v.size[2] = ROWS - 1;
        cached_expect_ok(cached_try_append(context, cache, 0, &k, &v), "append");
        assert_int_equal(headwise_cache_length(cache, 2), CAPACITY);
        assert_int_equal(headwise_cache_room(cache, 2), 0);
        assert_int_equal(headwise_cache_room(cache, 0), CAPACITY - ROWS + 1);
        headwise_cache_destroy(cache);
        headwise_context_destroy(context);
    }
}

static void a_full_sequence_stops_the_layer(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(451);
    headwise_context *context = cached_context(isa, 2, 0xff);
    struct headwise_mha_config config = small_layer(&rng);
    headwise_mha *mha = layer_create(context, &config);
    headwise_cache *cache = nearly_full(context, HEADWISE_F32, &rng);
    struct cached_memory kept = cached_memory_of(context, cache);
    void *before = cached_snapshot(&kept);
    struct layer_call call = layer_call_make(&rng, &config, 2, ROWS, -1, HEADWISE_F32);
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    struct headwise_attention_call given = cached_given(NULL);
    given.probe = &call.probe;
    expect_full(cached_try_forward(context, mha, &call.y, &call.x, cache, 1, &given),
                "mha_forward: sequence 2 holds 296 keys and has room for 4 more, not 5");
    expect_full(cached_try_mha_append(context, mha, cache, 1, &call.x, NULL),
                "mha_append: sequence 2 holds 296 keys and has room for 4 more, not 5");
    cached_expect_unchanged(&kept, before, "layer");
    guard_expect_untouched(call.y.data, (size_t)2 * ROWS * 12 * sizeof(float), "y");
    guard_expect_untouched(call.probe.lse, (size_t)2 * 2 * ROWS * sizeof(float), "lse");
    /* The sequences before it have room. */
    call = layer_call_make(&rng, &config, 2, ROWS, -1, HEADWISE_F32);
    cached_expect_ok(cached_try_forward(context, mha, &call.y, &call.x, cache, 0, NULL), "forward");
    assert_int_equal(headwise_cache_length(cache, 1), 7 + ROWS);
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(a_full_sequence_stops_the_whole_append),
        TEST_CASE(a_full_sequence_stops_the_layer),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
