/* Attention over a cache has the bits of attention over the same numbers as plain tensors. */
#include <math.h>
#include <string.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "runner.h"

static const struct call_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1},       {2, 4, 2, 7, 7, 16, 16},   {1, 2, 2, 33, 33, 37, 5},
    {1, 4, 1, 60, 300, 32, 64},  {2, 3, 3, 5, 257, 80, 48}, {1, 6, 2, 130, 515, 64, 64},
    {1, 8, 2, 1, 700, 128, 128},
};

/* y of the call over the cache for rows r ... of its queries, whose keys are in. */
static void attend(headwise_context *context, headwise_cache *cache, struct call *call, int64_t r,
                   int64_t n) {
    struct headwise_tensor q = cached_view(&call->q, 0, call->q.size[0], r, n);
    struct headwise_tensor y = cached_view(&call->y, 0, call->y.size[0], r, n);
    struct headwise_attention_call given = call_arguments(call);
    given.k = given.v = NULL;
    cached_expect_ok(cached_try_attention(context, &y, &q, cache, 0, &given), "attention");
    guard_check();
}

/* The prompt in chunks: keys that come before the first query, then each chunk of keys with its
 * queries. */
static void expect_chunks(enum headwise_isa isa, const struct call *plain, int64_t chunk,
                          int n_threads) {
    const struct call_shape *s = &plain->shape;
    headwise_context *context = cached_context(isa, n_threads, 0xff);
    headwise_cache *cache =
        cached_create(context, cached_config(&plain->k, &plain->v, s->keys, HEADWISE_F32));
    struct call call = *plain;
    call_new_outputs(&call);
    int64_t before = s->keys - s->queries;
    struct headwise_tensor k = cached_view(&call.k, 0, s->batch, 0, before);
    struct headwise_tensor v = cached_view(&call.v, 0, s->batch, 0, before);
    cached_append(context, cache, 0, &k, &v, chunk);
    for (int64_t r = 0; r < s->queries; r += chunk) {
        int64_t n = s->queries - r < chunk ? s->queries - r : chunk;
        k = cached_view(&call.k, 0, s->batch, before + r, n);
        v = cached_view(&call.v, 0, s->batch, before + r, n);
        cached_append(context, cache, 0, &k, &v, n);
        attend(context, cache, &call, r, n);
    }
    call_expect_same(&call, plain, "chunks");
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void any_chunks_give_the_same_bits(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(400);
    const int64_t chunks[] = {1, 3, 32, 64, 100, 1000};
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        struct call call = call_make(&rng, &shapes[i], HEADWISE_F32, 0);
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        call_run(isa, &call);
        for (size_t c = 0; c < TEST_COUNT(chunks); c++) {
            if ((int64_t)(i * TEST_COUNT(chunks) + c) % test_share() != 0)
                continue;
            expect_chunks(isa, &call, chunks[c], cached_threads(chunks[c], (int)c));
        }
        guard_reset();
    }
}

/* Above it the plain call, which other tests hold to the oracle, is enough: emulators are slow. */
enum { MOST_ORACLE_SCORES = 20000 };

/* Whatever the options: the same call on tensors, one sequence at a time. */
static void expect_options(enum headwise_isa isa, struct test_rng *rng,
                           const struct call_shape *shape, enum headwise_dtype dtype,
                           const struct headwise_attention_options *options) {
    struct call call = call_make(rng, shape, HEADWISE_F32, 0);
    call.options = *options;
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_cache *cache =
        cached_create(context, cached_config(&call.k, &call.v, shape->keys + 9, dtype));
    cached_append(context, cache, 0, &call.k, &call.v, 77);
    struct call cached = call;
    call_new_outputs(&cached);
    call_probe(&cached, CALL_ALL, HEADWISE_SCORES_MASKED);
    attend(context, cache, &cached, 0, shape->queries);
    /* The tensors hold what the cache does, so that the types do not matter. */
    for (int64_t b = 0; b < shape->batch; b++) {
        struct headwise_tensor k, v, dst_k = cached_view(&call.k, b, 1, 0, shape->keys),
                                     dst_v = cached_view(&call.v, b, 1, 0, shape->keys);
        cached_read(cache, b, 0, &k, &v);
        memcpy(dst_k.data, k.data,
               (size_t)(shape->kv_heads * shape->keys * shape->dim) * sizeof(float));
        memcpy(dst_v.data, v.data,
               (size_t)(shape->kv_heads * shape->keys * shape->value_dim) * sizeof(float));
    }
    call_probe(&call, CALL_ALL, HEADWISE_SCORES_MASKED);
    if (call.options.causal != HEADWISE_CAUSAL_BOTTOM_RIGHT && !call.given.query_offsets) {
        int64_t *offsets = guard_plain((size_t)shape->batch, sizeof(int64_t));
        for (int64_t b = 0; b < shape->batch; b++)
            offsets[b] = shape->keys - shape->queries;
        call.given.query_offsets = offsets;
    }
    call_run(isa, &call);
    call_expect_same(&cached, &call, "options");
    if (shape->heads * shape->queries * shape->keys <= MOST_ORACLE_SCORES) {
        struct oracle_result *result = call_oracle(&call);
        oracle_expect(result, &cached.y, &cached.probe);
    }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void every_type_and_option_agrees_with_tensors(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    struct test_rng rng = test_rng_make(401);
    for (size_t t = 0; t < TEST_COUNT(types); t++)
        for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
            struct headwise_attention_options options = {.size = sizeof(options)};
            if ((int64_t)(i * TEST_COUNT(types) + t) % test_share() != 0)
                continue;
            expect_options(isa, &rng, &shapes[i], types[t], &options);
            options.causal = HEADWISE_CAUSAL_TOP_LEFT;
            options.softcap = 3;
            expect_options(isa, &rng, &shapes[i], types[t], &options);
            options = (struct headwise_attention_options){
                .size = sizeof(options),
                .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                .window_is_set = true,
                .window_left = 40,
                .window_right = 0,
            };
            expect_options(isa, &rng, &shapes[i], types[t], &options);
            guard_reset();
        }
}

/* The mean over no head is 0, as without a cache. */
static void no_query_heads_leave_a_mean_of_zeros(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(402);
    const struct call_shape shape = {1, 1, 1, 3, 5, 4, 4};
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache =
        cached_create(context, cached_config(&call.k, &call.v, shape.keys, HEADWISE_F32));
    cached_append(context, cache, 0, &call.k, &call.v, shape.keys);
    float mean[3 * 5];
    for (int i = 0; i < 3 * 5; i++)
        mean[i] = NAN;
    call.probe = (struct headwise_probe){.size = sizeof call.probe, .mean_weights = mean};
    call.q.size[1] = call.y.size[1] = 0;
    attend(context, cache, &call, 0, 3);
    for (int i = 0; i < 3 * 5; i++)
        assert_true(mean[i] == 0.0f);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_chunks_give_the_same_bits),
        TEST_CASE(every_type_and_option_agrees_with_tensors),
        TEST_CASE(no_query_heads_leave_a_mean_of_zeros),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
