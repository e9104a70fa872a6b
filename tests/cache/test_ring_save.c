/* Rings are saved without what they dropped, and loaded wherever what is left is enough. */
#include <string.h>

#include "cached.h"
#include "guard.h"
#include "runner.h"

enum {
    HEADS = 2,
    DIM = 6,
    VALUE_DIM = 3,
    LENGTH = 8,
    FROM = 9,
    TO = 10 /* fields of the header */
};

static headwise_cache *ring_of(headwise_context *context, enum headwise_dtype dtype,
                               int64_t capacity, int64_t window, int64_t first) {
    return cached_create(context, (struct headwise_cache_config){.n_sequences = 2,
                                                                 .n_kv_heads = HEADS,
                                                                 .head_dim = DIM,
                                                                 .value_dim = VALUE_DIM,
                                                                 .capacity = capacity,
                                                                 .dtype = dtype,
                                                                 .window = window,
                                                                 .window_first = first});
}

static void append_random(headwise_context *context, headwise_cache *cache, int64_t n,
                          int64_t chunk, struct test_rng *rng) {
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, HEADS, n, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
    call_fill(rng, &k, 1);
    call_fill(rng, &v, 1);
    cached_append(context, cache, 0, &k, &v, chunk);
}

struct saved {
    int64_t *buffer;
    size_t size_bytes;
};

static struct saved save(const headwise_cache *cache) {
    struct saved saved;
    cached_expect_ok(headwise_cache_saved_bytes(cache, 0, &saved.size_bytes), "saved_bytes");
    saved.buffer = guard_alloc(saved.size_bytes, 0);
    cached_expect_ok(headwise_cache_save(cache, 0, saved.buffer, saved.size_bytes), "save");
    return saved;
}

static enum headwise_status load(headwise_cache *cache, struct saved saved) {
    return headwise_cache_load(cache, 0, saved.buffer, saved.size_bytes);
}

/* A query at the end of both, through the window of the narrower one. */
static void expect_same_attention(headwise_context *context, headwise_cache *a, headwise_cache *b,
                                  int64_t window, int64_t first) {
    headwise_cache *caches[2] = {a, b};
    const float slopes[HEADS] = {0.25f, 0.5f};
    struct test_rng rng = test_rng_make(500);
    struct headwise_attention_options options = {.size = sizeof(options),
                                                 .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                                 .window_is_set = true,
                                                 .window_left = window - 1,
                                                 .window_first = first,
                                                 .alibi_slopes = slopes};
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, HEADS, 1, DIM, NULL), y[2];
    call_fill(&rng, &q, 1);
    const struct headwise_attention_call given = cached_given(&options);
    for (int i = 0; i < 2; i++) {
        y[i] = call_tensor(HEADWISE_F32, 1, HEADS, 1, VALUE_DIM, NULL);
        cached_expect_ok(cached_try_attention(context, &y[i], &q, caches[i], 0, &given), "attend");
    }
    cached_expect_same(&y[1], &y[0], "attention");
}

/* 1300 rows in a ring of 400 with a window of 100 and 4 first keys: it holds 0 ... 255, 768 ... */
static headwise_cache *old_ring(headwise_context *context, enum headwise_dtype dtype) {
    struct test_rng rng = test_rng_make(501);
    headwise_cache *cache = ring_of(context, dtype, 400, 100, 4);
    append_random(context, cache, 1300, 90, &rng);
    return cache;
}

static void a_ring_comes_back(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    struct test_rng rng = test_rng_make(502);
    headwise_context *context = cached_context(isa, 1, 0xff);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        headwise_cache *cache = old_ring(context, types[t]);
        headwise_cache *other = ring_of(context, types[t], 400, 100, 4);
        struct saved saved = save(cache);
        assert_int_equal(saved.buffer[LENGTH], 1300);
        assert_int_equal(saved.buffer[FROM], 256);
        assert_int_equal(saved.buffer[TO], 768);
        append_random(context, other, 1000, 200, &rng);
        cached_expect_ok(load(other, saved), "load");
        assert_int_equal(headwise_cache_length(other, 0), 1300);
        assert_int_equal(headwise_cache_held_from(other, 0), 768);
        struct saved again = save(other);
        assert_int_equal(again.size_bytes, saved.size_bytes);
        assert_memory_equal(again.buffer, saved.buffer, saved.size_bytes);
        for (int i = 0; i < 5; i++) { /* and both go on alike */
            struct test_rng same = rng;
            expect_same_attention(context, cache, other, 100, 4);
            append_random(context, cache, 150, 97, &rng);
            append_random(context, other, 150, 97, &same);
        }
        headwise_cache_destroy(other);
        headwise_cache_destroy(cache);
    }
    headwise_context_destroy(context);
}

/* Where another ring needs less it takes what it holds; where it needs what was dropped it does not
 * take it, and neither does a cache without a window. */
static void into_other_caches(enum headwise_isa isa) {
    const struct {
        int64_t capacity, window, first, held_from; /* held_from -1: refused */
    } others[] = {
        {10, 5, 4, 1024}, {200, 100, 100, 1024}, {2000, 100, 4, 768},  {2000, 533, 256, 768},
        {60, 1, 0, 1024}, {2000, 534, 4, -1},    {2000, 100, 257, -1}, {2000, 0, 0, -1},
    };
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = old_ring(context, HEADWISE_F16);
    struct saved saved = save(cache);
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        headwise_cache *other =
            ring_of(context, HEADWISE_F16, others[i].capacity, others[i].window, others[i].first);
        struct cached_memory memory = cached_memory_of(context, other);
        void *before = cached_snapshot(&memory);
        enum headwise_status status = load(other, saved);
        if (others[i].held_from < 0) {
            assert_int_equal(status, HEADWISE_ERR_INVALID);
            assert_string_equal(headwise_last_error(),
                                "cache_load: saved without keys 256 to 767, which the cache must "
                                "hold");
            cached_expect_unchanged(&memory, before, "a refused load");
        } else {
            int64_t window = others[i].window < 100 ? others[i].window : 100;
            cached_expect_ok(status, "load");
            assert_int_equal(headwise_cache_held_from(other, 0), others[i].held_from);
            expect_same_attention(context, cache, other, window, others[i].first < 4 ? 0 : 4);
        }
        headwise_cache_destroy(other);
    }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* A whole sequence into a ring that holds less, and one that dropped nothing into a plain cache. */
static void between_rings_and_plain_caches(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(503);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *plain = ring_of(context, HEADWISE_I8, 1300, 0, 0);
    headwise_cache *ring = ring_of(context, HEADWISE_I8, 300, 60, 2);
    append_random(context, plain, 1300, 1300, &rng);
    cached_expect_ok(load(ring, save(plain)), "plain to ring");
    assert_true(headwise_cache_held_from(ring, 0) > 0);
    expect_same_attention(context, plain, ring, 60, 2);
    cached_expect_ok(headwise_cache_truncate(ring, 0, 0), "truncate");
    append_random(context, ring, 300, 300, &rng);
    cached_expect_ok(load(plain, save(ring)), "ring to plain");
    assert_int_equal(headwise_cache_length(plain, 0), 300);
    expect_same_attention(context, plain, ring, 60, 2);
    headwise_cache_destroy(plain);
    headwise_cache_destroy(ring);
    headwise_context_destroy(context);
}

/* Rows that come 2^40 positions later: bits do not change, and no block between is looked for. */
static void far_positions(enum headwise_isa isa) {
    const int64_t far = INT64_C(1) << 40;
    struct test_rng rng = test_rng_make(504);
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_cache *near = ring_of(context, HEADWISE_F32, 400, 100, 0);
    headwise_cache *later = ring_of(context, HEADWISE_F32, 400, 100, 0);
    append_random(context, near, 1300, 90, &rng);
    struct saved saved = save(near);
    assert_int_equal(saved.buffer[TO], 768);
    saved.buffer[LENGTH] += far;
    saved.buffer[TO] += far;
    cached_expect_ok(load(later, saved), "load");
    for (int i = 0; i < 6; i++) {
        struct test_rng same = rng;
        assert_int_equal(headwise_cache_length(later, 0), headwise_cache_length(near, 0) + far);
        expect_same_attention(context, near, later, 100, 0);
        append_random(context, near, 97, 97, &rng);
        append_random(context, later, 97, 97, &same);
    }
    /* Positions end far below INT64_MAX. */
    saved.buffer[LENGTH] = INT64_C(1) << 48;
    saved.buffer[TO] = saved.buffer[LENGTH] - 512;
    saved.size_bytes -= (size_t)20 * HEADS * (DIM + VALUE_DIM) * sizeof(float);
    saved.buffer[3] = (int64_t)saved.size_bytes;
    cached_expect_ok(load(later, saved), "load the longest");
    assert_int_equal(headwise_cache_room(later, 0), 0);
    headwise_cache_destroy(near);
    headwise_cache_destroy(later);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(a_ring_comes_back),
        TEST_CASE(into_other_caches),
        TEST_CASE(between_rings_and_plain_caches),
        TEST_CASE(far_positions),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
