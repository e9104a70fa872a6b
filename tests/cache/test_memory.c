/* What a cache takes is what headwise_cache_bytes() says, and sizes beyond 2^31 elements work. */
#define _GNU_SOURCE /* mmap's MAP_ANONYMOUS */
#include <string.h>
#include <sys/mman.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};

static const struct headwise_cache_config configs[] = {
    {.n_sequences = 1, .n_kv_heads = 1, .head_dim = 1, .capacity = 1},
    {.n_sequences = 3, .n_kv_heads = 2, .head_dim = 80, .value_dim = 33, .capacity = 257},
    {.n_sequences = 1, .n_kv_heads = 8, .head_dim = 128, .capacity = 1024},
    {.n_sequences = 64, .n_kv_heads = 1, .head_dim = 16, .value_dim = 1, .capacity = 256},
    {.n_sequences = 2, .n_kv_heads = 2, .head_dim = 64, .capacity = 900, .window = 700},
};

static void it_takes_what_it_says(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(configs); i++)
        for (size_t t = 0; t < TEST_COUNT(types); t++) {
            struct cached_memory last = {NULL, 0, 0};
            headwise_context *context = cached_context_noting(isa, 1, &last);
            struct headwise_cache_config config = configs[i];
            int64_t n_calls = last.n_calls;
            size_t bytes = 0;
            config.size = sizeof(config);
            config.dtype = types[t];
            cached_expect_ok(headwise_cache_bytes(context, &config, &bytes), "bytes");
            assert_int_equal(last.n_calls, n_calls);
            headwise_cache *cache = cached_create(context, config);
            assert_int_equal(last.n_calls, n_calls + 1);
            assert_int_equal(last.size_bytes, bytes);
            headwise_cache_destroy(cache);
            headwise_context_destroy(context);
        }
}

/* Nearly all of it is keys and values. */
static void the_figure_is_that_of_the_elements(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct headwise_cache_config config = {.size = sizeof(config),
                                           .n_sequences = 4,
                                           .n_kv_heads = 8,
                                           .head_dim = 128,
                                           .capacity = 4096};
    const double elements = 4.0 * 8 * 4096 * 256;
    const double bytes_each[] = {4, 2, 2, 1 + 4.0 / 32};
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        size_t bytes = 0;
        config.dtype = types[t];
        cached_expect_ok(headwise_cache_bytes(context, &config, &bytes), "bytes");
        assert_true((double)bytes >= elements * bytes_each[t]);
        assert_true((double)bytes < elements * bytes_each[t] * 1.001);
    }
    headwise_context_destroy(context);
}

/* Blocks of a ring: those of the first keys, and of as many keys as stay beside them wherever they
 * begin. */
static void a_ring_takes_the_blocks_it_says(enum headwise_isa isa) {
    const int64_t rings[][4] = {/* capacity, window, first; blocks */
                                {1, 1, 0, 1},       {2, 2, 0, 2},     {257, 257, 0, 2},
                                {258, 258, 0, 3},   {260, 256, 4, 3}, {513, 2, 511, 4},
                                {4611, 4096, 4, 20}};
    headwise_context *context = call_context(isa, 1);
    struct headwise_cache_config config = {.size = sizeof(config),
                                           .n_sequences = 1,
                                           .n_kv_heads = 16,
                                           .head_dim = 64,
                                           .dtype = HEADWISE_F16};
    const double block = 16 * 256 * 128 * 2.0;
    for (size_t i = 0; i < TEST_COUNT(rings); i++) {
        size_t bytes = 0;
        config.capacity = rings[i][0];
        config.window = rings[i][1];
        config.window_first = rings[i][2];
        cached_expect_ok(headwise_cache_bytes(context, &config, &bytes), "bytes");
        assert_true((double)bytes >= (double)rings[i][3] * block);
        assert_true((double)bytes < (double)rings[i][3] * block * 1.01);
    }
    headwise_context_destroy(context);
}

/* Products that do not fit: a status, and *bytes and *cache as they were. */
static void sizes_that_overflow(enum headwise_isa isa) {
    const int64_t most = INT64_C(1) << 40;
    const struct headwise_cache_config huge[] = {
        {0, most, most, 1, 1, 1, .dtype = HEADWISE_I8},
        {0, 1, 1, most, 1, 1, .dtype = HEADWISE_I8},
        {0, 1, 1, 1, most, most, .dtype = HEADWISE_F16},
        {0, most, 1, 1, 1, most, .dtype = HEADWISE_F32},
        {0, 1 << 20, 1 << 20, 64, 64, 1 << 20, .dtype = HEADWISE_F32},
        {0, most, 1, 1, 1, 1, .dtype = HEADWISE_F32},
        {0, most, most, most, most, most, .dtype = HEADWISE_BF16},
    };
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(huge); i++) {
        struct headwise_cache_config config = huge[i];
        size_t bytes = 77;
        headwise_cache *cache = NULL;
        config.size = sizeof(config);
        if (i != 1 && i != 5) /* these fit size_t, but no memory */
            assert_int_equal(headwise_cache_bytes(context, &config, &bytes),
                             HEADWISE_ERR_NO_MEMORY);
        assert_int_equal(bytes, 77);
        assert_int_equal(headwise_cache_create(&cache, context, &config), HEADWISE_ERR_NO_MEMORY);
        assert_null(cache);
        assert_true(strncmp(headwise_last_error(), "cache: ", 7) == 0);
    }
    headwise_context_destroy(context);
}

static void *sparse_alloc(void *user, size_t size_bytes, size_t alignment) {
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)user, (void)alignment; /* a page: enough */
    return memory == MAP_FAILED ? NULL : memory;
}

static void sparse_release(void *user, void *memory, size_t size_bytes) {
    (void)user;
    munmap(memory, size_bytes);
}

/* The last of so many sequences that its keys lie more than 2^31 elements behind the first one's,
 * beside a cache of its own. Pages that nobody touches take no memory. */
static void sequences_far_apart(enum headwise_isa isa) {
    enum { DIM = 64, N = 70000, KEYS = 40 };
    const struct call_shape shape = {1, 2, 1, 3, KEYS, DIM, DIM};
    struct test_rng rng = test_rng_make(460);
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 1,
                                               .allocator = {sparse_alloc, sparse_release, NULL}};
    headwise_context *context = NULL;
    cached_expect_ok(headwise_context_create(&context, &options), "context");
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0), near = call;
        call_new_outputs(&near);
        struct headwise_cache_config config = {sizeof(config),   N, 1, DIM, 0, KEYS,
                                               .dtype = types[t]};
        headwise_cache *far = NULL;
        if (headwise_cache_create(&far, context, &config) != HEADWISE_OK)
            test_skip("no address space for a cache of more than 2^31 elements");
        headwise_cache *alone =
            cached_create(context, cached_config(&call.k, &call.v, KEYS, types[t]));
        cached_append(context, far, N - 1, &call.k, &call.v, 9);
        cached_append(context, alone, 0, &call.k, &call.v, 9);
        struct headwise_attention_call given = cached_given(&call.options);
        cached_expect_ok(cached_try_attention(context, &call.y, &call.q, far, N - 1, &given),
                         "far");
        cached_expect_ok(cached_try_attention(context, &near.y, &near.q, alone, 0, &given), "near");
        call_expect_same(&call, &near, "far apart");
        cached_expect_ok(headwise_cache_copy(far, 0, N - 1), "copy");
        assert_int_equal(headwise_cache_length(far, 0), KEYS);
        headwise_cache_destroy(alone);
        headwise_cache_destroy(far);
    }
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(it_takes_what_it_says),
        TEST_CASE(the_figure_is_that_of_the_elements),
        TEST_CASE(a_ring_takes_the_blocks_it_says),
        TEST_CASE(sizes_that_overflow),
        TEST_CASE(sequences_far_apart),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
