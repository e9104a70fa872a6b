/* Saved sequences: the bytes, the way back on every tier, and what is done with damaged ones. */
#include <stdio.h>
#include <string.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

enum { HEADS = 2, DIM = 37, VALUE_DIM = 5, HEADER = 16 };

static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};

static headwise_cache *new_cache(headwise_context *context, enum headwise_dtype dtype,
                                 int64_t capacity) {
    return cached_create(context, (struct headwise_cache_config){.n_sequences = 3,
                                                                 .n_kv_heads = HEADS,
                                                                 .head_dim = DIM,
                                                                 .value_dim = VALUE_DIM,
                                                                 .capacity = capacity,
                                                                 .dtype = dtype});
}

static void append_random(headwise_context *context, headwise_cache *cache, int64_t sequence,
                          int64_t n, struct test_rng *rng) {
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, HEADS, n, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
    call_fill(rng, &k, 1);
    call_fill(rng, &v, 1);
    cached_append(context, cache, sequence, &k, &v, 100);
}

struct saved {
    void *buffer; /* ends at an unreadable page */
    size_t size_bytes;
};

static struct saved save(const headwise_cache *cache, int64_t sequence) {
    struct saved saved;
    cached_expect_ok(headwise_cache_saved_bytes(cache, sequence, &saved.size_bytes), "saved_bytes");
    saved.buffer = guard_alloc(saved.size_bytes, 0);
    cached_expect_ok(headwise_cache_save(cache, sequence, saved.buffer, saved.size_bytes), "save");
    guard_check();
    return saved;
}

static void load(headwise_cache *cache, int64_t sequence, struct saved saved) {
    cached_expect_ok(headwise_cache_load(cache, sequence, saved.buffer, saved.size_bytes), "load");
}

static void expect_same_bytes(struct saved a, struct saved b) {
    assert_int_equal(a.size_bytes, b.size_bytes);
    assert_memory_equal(a.buffer, b.buffer, a.size_bytes);
}

/* The formula of cache.h. */
static void the_bytes_are_those_described(enum headwise_isa isa) {
    static const char name[8] = "HWCACHE";
    const int64_t lengths[] = {0, 1, 255, 300};
    struct test_rng rng = test_rng_make(470);
    headwise_context *context = cached_context(isa, 1, 0xff);
    for (size_t i = 0; i < TEST_COUNT(lengths) * TEST_COUNT(types); i++) {
        int64_t n = lengths[i % TEST_COUNT(lengths)], name_number;
        enum headwise_dtype dtype = types[i / TEST_COUNT(lengths)];
        headwise_cache *cache = new_cache(context, dtype, 300);
        append_random(context, cache, 1, n, &rng);
        struct saved saved = save(cache, 1);
        int64_t groups = dtype == HEADWISE_I8 ? 2 + 1 : 0; /* of 37 and of 5 */
        int64_t size = (int64_t)headwise_dtype_size(dtype);
        int64_t bytes = 8 * HEADER + HEADS * n * ((DIM + VALUE_DIM) * size + 4 * groups);
        memcpy(&name_number, name, sizeof(name));
        const int64_t want[HEADER] = {name_number, 0x0102030405060708, 1, bytes, dtype, HEADS,
                                      DIM,         VALUE_DIM,          n};
        assert_int_equal(saved.size_bytes, bytes);
        assert_memory_equal(saved.buffer, want, sizeof(want));
        headwise_cache_destroy(cache);
    }
    headwise_context_destroy(context);
}

static void rows_are_in_plain_order(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(471);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = new_cache(context, HEADWISE_F32, 300);
    struct headwise_tensor k, v;
    append_random(context, cache, 0, 290, &rng);
    cached_read(cache, 0, 0, &k, &v);
    struct saved saved = save(cache, 0);
    const float *keys = (const float *)saved.buffer + 2 * HEADER;
    compare_same_bits(keys, k.data, HEADS * 290 * DIM, "keys");
    compare_same_bits(keys + HEADS * 290 * DIM, v.data, HEADS * 290 * VALUE_DIM, "values");
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* Queries give the same bits over both. */
static void expect_same_attention(headwise_context *context, headwise_cache *cache,
                                  int64_t sequence, headwise_context *other_context,
                                  headwise_cache *other, int64_t other_sequence) {
    struct test_rng rng = test_rng_make(472);
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, HEADS, 3, DIM, NULL);
    struct headwise_tensor y[2] = {call_tensor(HEADWISE_F32, 1, HEADS, 3, VALUE_DIM, NULL),
                                   call_tensor(HEADWISE_F32, 1, HEADS, 3, VALUE_DIM, NULL)};
    call_fill(&rng, &q, 1);
    cached_expect_ok(cached_try_attention(context, &y[0], &q, cache, sequence, NULL), "one");
    cached_expect_ok(cached_try_attention(other_context, &y[1], &q, other, other_sequence, NULL),
                     "other");
    if (headwise_context_describe(context)->isa == headwise_context_describe(other_context)->isa ||
        (headwise_context_describe(context)->isa != HEADWISE_ISA_SCALAR &&
         headwise_context_describe(other_context)->isa != HEADWISE_ISA_SCALAR))
        cached_expect_same(&y[0], &y[1], "attention");
}

/* From this tier to every other: the same rows, the same bytes when saved there, and a sequence
 * that goes on. What was in its place, and the sequence it shared blocks with, do not matter. */
static void expect_way_back(headwise_context *context, headwise_cache *cache,
                            headwise_context *other_context, int64_t n, struct test_rng *rng) {
    headwise_cache *other = new_cache(other_context, headwise_cache_describe(cache)->dtype, 620);
    struct headwise_tensor k[3], v[3];
    struct saved saved = save(cache, 2);
    append_random(other_context, other, 0, 270, rng);
    cached_expect_ok(headwise_cache_copy(other, 1, 0), "copy");
    cached_read(other, 0, 0, &k[0], &v[0]);
    load(other, 1, saved);
    assert_int_equal(headwise_cache_length(other, 1), n);
    expect_same_bytes(save(other, 1), saved);
    cached_read(cache, 2, 0, &k[1], &v[1]);
    cached_read(other, 1, 0, &k[2], &v[2]);
    cached_expect_same(&k[2], &k[1], "keys");
    cached_expect_same(&v[2], &v[1], "values");
    expect_same_attention(context, cache, 2, other_context, other, 1);
    cached_read(other, 0, 0, &k[2], &v[2]);
    cached_expect_same(&k[2], &k[0], "keys of another sequence");
    append_random(other_context, other, 1, 7, rng);
    assert_int_equal(headwise_cache_length(other, 1), n + 7);
    headwise_cache_destroy(other);
}

static void the_way_back_on_every_tier(enum headwise_isa isa) {
    const int64_t lengths[] = {0, 1, 255, 256, 257, 600};
    enum headwise_isa tiers[4];
    int n_tiers = test_tiers(tiers);
    struct test_rng rng = test_rng_make(473);
    headwise_context *context = cached_context(isa, 1, 0xff);
    for (int tier = 0; tier < n_tiers; tier++) {
        headwise_context *other = cached_context(tiers[tier], 2, 0xff);
        for (size_t i = 0; i < TEST_COUNT(lengths) * TEST_COUNT(types); i++) {
            int64_t n = lengths[i % TEST_COUNT(lengths)];
            headwise_cache *cache = new_cache(context, types[i / TEST_COUNT(lengths)], 600);
            append_random(context, cache, 2, n, &rng);
            expect_way_back(context, cache, other, n, &rng);
            headwise_cache_destroy(cache);
            guard_reset();
        }
        headwise_context_destroy(other);
    }
    headwise_context_destroy(context);
}

/* Numbers that no f32 has a place for, and NaN in values that only some queries see. */
static void values_that_are_not_finite(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(474);
    headwise_context *context = cached_context(isa, 1, 0xff);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        headwise_cache *cache = new_cache(context, types[t], 300);
        struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, HEADS, 40, DIM, NULL);
        struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, HEADS, 40, VALUE_DIM, NULL);
        call_fill(&rng, &k, 1);
        call_fill(&rng, &v, 1);
        ((uint32_t *)v.data)[39 * VALUE_DIM] = 0x7fc00000u; /* the last query's own value */
        cached_append(context, cache, 0, &k, &v, 40);
        load(cache, 1, save(cache, 0));
        struct headwise_attention_options options = {.size = sizeof(options),
                                                     .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT};
        const struct headwise_attention_call given = cached_given(&options);
        struct headwise_tensor q = cached_view(&k, 0, 1, 30, 10);
        struct headwise_tensor y = call_tensor(HEADWISE_F32, 1, HEADS, 10, VALUE_DIM, NULL);
        struct headwise_tensor want = call_tensor(HEADWISE_F32, 1, HEADS, 10, VALUE_DIM, NULL);
        cached_expect_ok(cached_try_attention(context, &y, &q, cache, 1, &given), "loaded");
        cached_expect_ok(cached_try_attention(context, &want, &q, cache, 0, &given), "kept");
        cached_expect_same(&y, &want, "attention");
        assert_true(((float *)y.data)[8 * VALUE_DIM] < 1); /* no NaN */
        headwise_cache_destroy(cache);
    }
    headwise_context_destroy(context);
}

/* An error leaves the cache as it was; what is taken all the same is taken to the letter. */
static void expect_harmless(headwise_context *context, headwise_cache *cache, struct saved damaged,
                            const char *what) {
    struct cached_memory memory = cached_memory_of(context, cache);
    void *before = cached_snapshot(&memory);
    enum headwise_status status = headwise_cache_load(cache, 1, damaged.buffer, damaged.size_bytes);
    if (status == HEADWISE_OK) {
        expect_same_bytes(save(cache, 1), damaged);
        return;
    }
    assert_true(status == HEADWISE_ERR_FORMAT || status == HEADWISE_ERR_INVALID ||
                status == HEADWISE_ERR_FULL);
    assert_int_equal(strncmp(headwise_last_error(), "cache_load: ", 12), 0);
    cached_expect_unchanged(&memory, before, what);
}

static struct saved copy_saved(struct saved saved, size_t size_bytes) {
    struct saved copy = {guard_alloc(size_bytes, 0), size_bytes};
    size_t n = size_bytes < saved.size_bytes ? size_bytes : saved.size_bytes;
    memcpy(copy.buffer, saved.buffer, n);
    return copy;
}

/* Every number of the header replaced by every number worth a try. */
static void hostile_headers(enum headwise_isa isa) {
    const int64_t numbers[] = {0,
                               1,
                               2,
                               -1,
                               3,
                               4,
                               5,
                               37,
                               255,
                               256,
                               512,
                               1 << 20,
                               INT64_MAX,
                               INT64_MIN,
                               INT64_MAX / 37,
                               (INT64_C(1) << 48) + 1,
                               INT64_C(1) << 62};
    struct test_rng rng = test_rng_make(475);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = new_cache(context, HEADWISE_I8, 300);
    append_random(context, cache, 0, 280, &rng);
    append_random(context, cache, 1, 9, &rng);
    struct saved saved = save(cache, 0);
    for (int field = 0; field < HEADER; field++)
        for (size_t i = 0; i < TEST_COUNT(numbers); i++)
            for (int second = 8; second < 11; second++) { /* length and dropped rows */
                struct saved damaged = copy_saved(saved, saved.size_bytes);
                ((int64_t *)damaged.buffer)[field] = numbers[i];
                ((int64_t *)damaged.buffer)[second] = numbers[test_rng_below(&rng, 17)];
                expect_harmless(context, cache, damaged, "header");
                guard_release();
                saved = save(cache, 0);
            }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void cut_and_damaged_bytes(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(476);
    headwise_context *context = cached_context(isa, 1, 0xff);
    int n_taken = 0;
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        headwise_cache *cache = new_cache(context, types[t], 300);
        append_random(context, cache, 0, 5, &rng);
        append_random(context, cache, 1, 280, &rng);
        for (int round = 0; round < 300; round++) {
            struct saved saved = save(cache, 0);
            size_t size = round % 3 == 0
                              ? saved.size_bytes
                              : (size_t)test_rng_below(&rng, (int64_t)saved.size_bytes * 2);
            struct saved damaged = copy_saved(saved, size / 4 * 4);
            for (int64_t n = test_rng_below(&rng, 4); damaged.size_bytes > 0 && n > 0; n--) {
                int64_t at = test_rng_below(&rng, (int64_t)damaged.size_bytes);
                ((uint8_t *)damaged.buffer)[at] = (uint8_t)test_rng_next(&rng);
            }
            expect_harmless(context, cache, damaged, "bytes");
            n_taken += headwise_cache_length(cache, 1) == 5;
            guard_release();
        }
        headwise_cache_destroy(cache);
    }
    assert_true(n_taken > 100);
    headwise_context_destroy(context);
}

struct refusal {
    int field;
    int64_t number;
    enum headwise_status status;
    const char *text;
};

static void every_error_says_why(enum headwise_isa isa) {
    const struct refusal refusals[] = {
        {0, 77, HEADWISE_ERR_FORMAT, "this is no saved sequence of a cache"},
        {1, 0x0807060504030201, HEADWISE_ERR_FORMAT, "saved by a machine of the other byte order"},
        {1, 0, HEADWISE_ERR_FORMAT, "the byte order mark is damaged"},
        {2, 2, HEADWISE_ERR_FORMAT, "version 2, expected 1"},
        {3, 4, HEADWISE_ERR_FORMAT, "800 bytes, but 4 were saved"},
        {4, HEADWISE_F16, HEADWISE_ERR_INVALID, "saved as type f16, the cache has f32"},
        {4, 99, HEADWISE_ERR_INVALID, "saved as type ?, the cache has f32"},
        {5, 3, HEADWISE_ERR_INVALID, "saved with 3 kv heads, the cache has 2"},
        {6, 64, HEADWISE_ERR_INVALID, "saved with 64 components of a key, the cache has 37"},
        {7, 6, HEADWISE_ERR_INVALID, "saved with 6 components of a value, the cache has 5"},
        {8, 4, HEADWISE_ERR_FORMAT, "800 bytes cannot be 4 rows"},
        {8, -1, HEADWISE_ERR_FORMAT,
         "-1 keys of which those from 0 up to 0 were dropped cannot be"},
        {10, 256, HEADWISE_ERR_FORMAT,
         "2 keys of which those from 0 up to 256 were dropped cannot be"},
        {15, 1, HEADWISE_ERR_FORMAT, "the end of the header is not 0"},
    };
    struct test_rng rng = test_rng_make(477);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = new_cache(context, HEADWISE_F32, 300);
    append_random(context, cache, 0, 2, &rng);
    struct saved saved = save(cache, 0);
    for (size_t i = 0; i < TEST_COUNT(refusals); i++) {
        struct saved damaged = copy_saved(saved, saved.size_bytes);
        char want[160];
        snprintf(want, sizeof(want), "cache_load: %s", refusals[i].text);
        ((int64_t *)damaged.buffer)[refusals[i].field] = refusals[i].number;
        assert_int_equal(headwise_cache_load(cache, 1, damaged.buffer, damaged.size_bytes),
                         refusals[i].status);
        assert_string_equal(headwise_last_error(), want);
    }
    headwise_cache *small = new_cache(context, HEADWISE_F32, 1);
    assert_int_equal(headwise_cache_load(small, 0, saved.buffer, saved.size_bytes),
                     HEADWISE_ERR_FULL);
    assert_string_equal(headwise_last_error(),
                        "cache_load: 2 keys were saved, the cache has room for 1");
    headwise_cache_destroy(small);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* Scales and integers of the 8-bit type that no append gives. NaN is one that it does. */
static void numbers_that_no_append_gives(enum headwise_isa isa) {
    const uint32_t scales[] = {0, 0x80000000u, 0x7f800000u, 0xbf800000u, 0x007fffffu, 0x7c010205u};
    struct test_rng rng = test_rng_make(478);
    headwise_context *context = cached_context(isa, 1, 0xff);
    headwise_cache *cache = new_cache(context, HEADWISE_I8, 300);
    append_random(context, cache, 0, 2, &rng);
    struct saved saved = save(cache, 0);
    for (size_t i = 0; i <= TEST_COUNT(scales); i++) {
        struct saved damaged = copy_saved(saved, saved.size_bytes);
        if (i < TEST_COUNT(scales)) /* of the last value */
            ((uint32_t *)damaged.buffer)[2 * HEADER + HEADS * 2 * 3 - 1] = scales[i];
        else
            ((int8_t *)damaged.buffer)[damaged.size_bytes - 1] = -128;
        assert_int_equal(headwise_cache_load(cache, 1, damaged.buffer, damaged.size_bytes),
                         HEADWISE_ERR_FORMAT);
        assert_string_equal(headwise_last_error(), "cache_load: damaged scales or integers");
    }
    ((uint32_t *)saved.buffer)[2 * HEADER + HEADS * 2 * 3 - 1] = 0x7fc00000u;
    load(cache, 1, saved);
    expect_same_bytes(save(cache, 1), saved);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* So many rows that their bytes are 2^66: none, where a product is not checked. */
static void sizes_that_overflow(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    headwise_cache *cache = cached_create(
        context, (struct headwise_cache_config){
                     .n_sequences = 1, .n_kv_heads = 1, .head_dim = 1 << 16, .capacity = 1});
    struct saved saved = save(cache, 0);
    ((int64_t *)saved.buffer)[8] = INT64_C(1) << 48;
    assert_int_equal(headwise_cache_load(cache, 0, saved.buffer, saved.size_bytes),
                     HEADWISE_ERR_FORMAT);
    assert_string_equal(headwise_last_error(),
                        "cache_load: 128 bytes cannot be 281474976710656 rows");
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_bytes_are_those_described),
        TEST_CASE(rows_are_in_plain_order),
        TEST_CASE(the_way_back_on_every_tier),
        TEST_CASE(values_that_are_not_finite),
        TEST_CASE(hostile_headers),
        TEST_CASE(cut_and_damaged_bytes),
        TEST_CASE(every_error_says_why),
        TEST_CASE(numbers_that_no_append_gives),
        TEST_CASE(sizes_that_overflow),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
