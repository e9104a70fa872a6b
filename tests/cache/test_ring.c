/* A cache with a window: the bits of one that holds every key, for ever, and what it refuses. */
#include <string.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

enum { HEADS = 4, KV_HEADS = 2, DIM = 12, VALUE_DIM = 7 };

struct ring {
    int64_t window, first, capacity, chunk, n_rows;
};

/* Windows and first keys around the borders of key blocks; chunks of one row to the longest. */
static const struct ring rings[] = {
    {2, 0, 2, 1, 600},         {258, 1, 259, 1, 1100},    {1, 0, 1, 1, 300},
    {5, 0, 5, 1, 700},         {5, 3, 40, 33, 900},       {256, 4, 260, 1, 900},
    {255, 256, 600, 90, 1500}, {257, 257, 600, 87, 1500}, {100, 1, 400, 300, 2000},
    {300, 0, 1000, 701, 3000}, {300, 255, 600, 46, 1400}, {512, 600, 1300, 189, 3000}};

static struct headwise_cache_config config_of(const struct ring *ring, enum headwise_dtype dtype) {
    return (struct headwise_cache_config){.n_sequences = 2,
                                          .n_kv_heads = KV_HEADS,
                                          .head_dim = DIM,
                                          .value_dim = VALUE_DIM,
                                          .capacity = ring->capacity,
                                          .dtype = dtype,
                                          .window = ring->window,
                                          .window_first = ring->first};
}

static struct headwise_attention_options options_of(const struct ring *ring) {
    return (struct headwise_attention_options){.size = sizeof(struct headwise_attention_options),
                                               .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                               .window_is_set = true,
                                               .window_left = ring->window - 1,
                                               .window_first = ring->first};
}

static void append_rows(headwise_context *context, headwise_cache *cache, int64_t sequence,
                        int64_t n, struct test_rng *rng) {
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, KV_HEADS, n, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, KV_HEADS, n, VALUE_DIM, NULL);
    call_fill(rng, &k, 1);
    call_fill(rng, &v, 1);
    cached_expect_ok(cached_try_append(context, cache, sequence, &k, &v), "append");
}

/* Both caches get one chunk, then one set of queries: each of the chunk's rows asks. */
static void step(headwise_context *context, headwise_cache *caches[2], int64_t n,
                 const struct headwise_attention_options *options, struct test_rng *rng,
                 bool probes) {
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, HEADS, n, DIM, NULL), y[2];
    struct test_rng rows = *rng;
    float *lse[2], *weights[2];
    int64_t length = headwise_cache_length(caches[0], 1) + n;
    call_fill(rng, &q, 1);
    for (int i = 0; i < 2; i++) {
        struct test_rng same = rows;
        struct headwise_probe probe = {.size = sizeof(probe)};
        struct headwise_attention_call given = cached_given(options);
        append_rows(context, caches[i], 1, n, &same);
        lse[i] = guard_floats((size_t)(HEADS * n));
        weights[i] = guard_floats((size_t)(HEADS * n * length));
        y[i] = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
        probe.lse = lse[i];
        probe.weights = weights[i];
        given.probe = probes ? &probe : NULL;
        cached_expect_ok(cached_try_attention(context, &y[i], &q, caches[i], 1, &given), "attend");
    }
    cached_expect_same(&y[1], &y[0], "y");
    if (probes) {
        compare_same_bits(lse[1], lse[0], (size_t)(HEADS * n), "lse");
        compare_same_bits(weights[1], weights[0], (size_t)(HEADS * n * length), "weights");
    }
}

/* The first keys, and the last capacity - first keys, are there as if nothing was dropped. */
static void expect_held(const headwise_cache *ring, const headwise_cache *full) {
    int64_t length = headwise_cache_length(full, 1),
            first = headwise_cache_describe(full)->window_first;
    int64_t kept =
        headwise_cache_describe(ring)->capacity - headwise_cache_describe(ring)->window_first;
    int64_t held_from = headwise_cache_held_from(ring, 1);
    struct headwise_tensor k[2], v[2];
    assert_int_equal(headwise_cache_length(ring, 1), length);
    assert_true(held_from == 0 || held_from <= length - kept);
    assert_int_equal(headwise_cache_held_from(full, 1), 0);
    cached_read(ring, 1, held_from, &k[0], &v[0]);
    cached_read(full, 1, held_from, &k[1], &v[1]);
    cached_expect_same(&k[0], &k[1], "keys");
    cached_expect_same(&v[0], &v[1], "values");
    first = headwise_cache_describe(ring)->window_first;
    for (int i = 0; i < 2 && first <= length; i++) {
        k[i] = call_tensor(HEADWISE_F32, 1, KV_HEADS, first, DIM, NULL);
        v[i] = call_tensor(HEADWISE_F32, 1, KV_HEADS, first, VALUE_DIM, NULL);
        cached_expect_ok(headwise_cache_read(i == 0 ? ring : full, 1, 0, &k[i], &v[i]), "read");
    }
    if (first <= length)
        cached_expect_same(&k[0], &k[1], "first keys");
}

static void expect_ring(enum headwise_isa isa, const struct ring *ring, enum headwise_dtype dtype,
                        int n_threads) {
    struct test_rng rng = test_rng_make(480);
    headwise_context *context = cached_context(isa, n_threads, 0xff);
    struct ring whole = {0, 0, ring->n_rows, ring->chunk, ring->n_rows};
    headwise_cache *caches[2] = {cached_create(context, config_of(&whole, dtype)),
                                 cached_create(context, config_of(ring, dtype))};
    struct headwise_attention_options options = options_of(ring);
    int64_t longest = ring->capacity - ring->first - ring->window + 1;
    for (int64_t done = 0; done < ring->n_rows;) {
        int64_t n = 1 + test_rng_below(&rng, ring->chunk);
        n = n > ring->n_rows - done ? ring->n_rows - done : n;
        int64_t room = headwise_cache_room(caches[1], 1);
        assert_int_equal(room, ring->capacity - done > longest ? ring->capacity - done : longest);
        step(context, caches, n, &options, &rng, done % 41 == 0);
        done += n;
        if (done % 31 == 0)
            expect_held(caches[1], caches[0]);
        guard_reset();
    }
    assert_true(headwise_cache_held_from(caches[1], 1) > 0);
    assert_int_equal(headwise_cache_length(caches[1], 0), 0);
    headwise_cache_destroy(caches[0]);
    headwise_cache_destroy(caches[1]);
    headwise_context_destroy(context);
}

static void a_ring_gives_the_bits_of_a_full_cache(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    for (size_t i = 0; i < TEST_COUNT(rings); i++) {
        assert_true(rings[i].chunk <= rings[i].capacity - rings[i].first - rings[i].window + 1);
        for (size_t t = i % 4; t < TEST_COUNT(types); t += rings[i].chunk == 1 ? 4 : 2)
            if ((int64_t)(i * TEST_COUNT(types) + t) % test_share() == 0)
                expect_ring(isa, &rings[i], types[t], rings[i].chunk < 64 ? 1 : 1 + (int)t % 3);
    }
}

/* A call may look less far back than the cache keeps, and ask with biases by position. */
static void narrower_windows_and_biases(enum headwise_isa isa) {
    const struct ring ring = {300, 20, 400, 81, 1200}, whole = {0, 0, 1200, 81, 1200};
    const float slopes[HEADS] = {0.5f, 0.25f, 0.01f, 2.0f}, sinks[HEADS] = {0, 1, -2, 3};
    struct test_rng rng = test_rng_make(481);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *caches[2] = {cached_create(context, config_of(&whole, HEADWISE_F16)),
                                 cached_create(context, config_of(&ring, HEADWISE_F16))};
    struct headwise_attention_options options = options_of(&ring);
    options.alibi_slopes = slopes;
    options.sinks = sinks;
    for (int64_t done = 0; done < 1200; done += 40) {
        options.window_left = (done / 40 * 37) % 300;
        options.window_first = done / 40 % 21;
        step(context, caches, 40, &options, &rng, false);
    }
    headwise_cache_destroy(caches[0]);
    headwise_cache_destroy(caches[1]);
    headwise_context_destroy(context);
}

static void expect_error(enum headwise_status got, enum headwise_status want, const char *text) {
    assert_int_equal(got, want);
    assert_string_equal(headwise_last_error(), text);
}

/* 1300 rows in a ring of 400: those from 256 to 767 were dropped. */
static const struct ring small = {100, 4, 400, 297, 1300};

static headwise_cache *small_ring(headwise_context *context, struct test_rng *rng) {
    headwise_cache *cache = cached_create(context, config_of(&small, HEADWISE_F32));
    for (int i = 0; i < 13; i++)
        append_rows(context, cache, 1, 100, rng);
    assert_int_equal(headwise_cache_held_from(cache, 1), 768);
    assert_int_equal(headwise_cache_room(cache, 1), 297);
    return cache;
}

static void what_was_dropped_is_refused(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(482);
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_cache *cache = small_ring(context, &rng);
    struct cached_memory memory = cached_memory_of(context, cache);
    void *before = cached_snapshot(&memory);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, KV_HEADS, 298, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, KV_HEADS, 298, VALUE_DIM, NULL);
    expect_error(cached_try_append(context, cache, 1, &k, &v), HEADWISE_ERR_FULL,
                 "cache_append: sequence 1 holds 1300 keys and has room for 297 more, not 298");
    expect_error(headwise_cache_truncate(cache, 1, 866), HEADWISE_ERR_INVALID,
                 "cache_truncate: at length 866 keys from 767 on are needed, but those before 768 "
                 "were dropped");
    k.size[2] = v.size[2] = 2;
    expect_error(headwise_cache_read(cache, 1, 767, &k, NULL), HEADWISE_ERR_INVALID,
                 "cache_read: rows from 767 on, but those from 256 to 767 were dropped");
    expect_error(headwise_cache_read(cache, 1, 255, NULL, &v), HEADWISE_ERR_INVALID,
                 "cache_read: rows from 255 on, but those from 256 to 767 were dropped");
    cached_expect_unchanged(&memory, before, "a refused call");
    cached_expect_ok(headwise_cache_read(cache, 1, 768, &k, &v), "read");
    cached_expect_ok(headwise_cache_read(cache, 1, 2, &k, &v), "read");
    cached_expect_ok(headwise_cache_truncate(cache, 1, 867), "truncate");
    assert_int_equal(headwise_cache_room(cache, 1), 297);
    cached_expect_ok(headwise_cache_truncate(cache, 1, 4), "truncate to the first keys");
    assert_int_equal(headwise_cache_held_from(cache, 1), 0);
    assert_int_equal(headwise_cache_room(cache, 1), 396);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void windows_that_the_ring_does_not_keep(enum headwise_isa isa) {
    enum { QUERIES = 1300 - 768 - 99 };
    static const char text[] = "attention: the cache keeps a window: set window_left, to 99 "
                               "at most, and window_first to 4 at most";
    struct test_rng rng = test_rng_make(483);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = small_ring(context, &rng);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 2, HEADS, QUERIES, DIM, NULL);
    struct headwise_tensor y = call_tensor(HEADWISE_F32, 2, HEADS, QUERIES, VALUE_DIM, NULL);
    call_fill(&rng, &q, 1);
    const struct headwise_attention_options good = options_of(&small);
    struct headwise_attention_options o[4] = {good, good, good, good};
    o[0].window_is_set = false;
    o[1].window_left = -1;
    o[2].window_left = 100;
    o[3].window_first = 5;
    struct headwise_attention_call given;
    for (int i = 0; i < 4; i++) {
        given = cached_given(&o[i]);
        expect_error(cached_try_attention(context, &y, &q, cache, 0, &given), HEADWISE_ERR_INVALID,
                     text);
    }
    expect_error(cached_try_attention(context, &y, &q, cache, 0, NULL), HEADWISE_ERR_INVALID, text);
    /* QUERIES queries end at 1300: the window of the first one begins at 768. */
    given = cached_given(&good);
    cached_expect_ok(cached_try_attention(context, &y, &q, cache, 0, &given), "queries");
    const int64_t offsets[2] = {0, 866};
    given.query_offsets = offsets;
    expect_error(cached_try_attention(context, &y, &q, cache, 0, &given), HEADWISE_ERR_INVALID,
                 "attention: sequence 1: queries see keys from 767 on, but those before 768 "
                 "were dropped");
    float *scores = guard_floats((size_t)2 * HEADS * QUERIES * 1300);
    struct headwise_probe probe = {.size = sizeof(probe), .scores = scores};
    given.query_offsets = NULL;
    given.probe = &probe;
    probe.score_stage = HEADWISE_SCORES_CAPPED;
    expect_error(cached_try_attention(context, &y, &q, cache, 0, &given), HEADWISE_ERR_INVALID,
                 "attention: a cache with a window has no scores before the masks");
    guard_expect_untouched(scores, (size_t)2 * HEADS * QUERIES * 1300 * sizeof(float), "scores");
    probe.score_stage = HEADWISE_SCORES_MASKED;
    cached_expect_ok(cached_try_attention(context, &y, &q, cache, 0, &given), "scores");
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(a_ring_gives_the_bits_of_a_full_cache),
        TEST_CASE(narrower_windows_and_biases),
        TEST_CASE(what_was_dropped_is_refused),
        TEST_CASE(windows_that_the_ring_does_not_keep),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
