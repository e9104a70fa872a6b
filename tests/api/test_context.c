/* The context's memory: whose it is, how it grows, when it does not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

static const struct call_shape small_shape = {1, 2, 2, 4, 9, 8, 8},
                               large_shape = {2, 4, 2, 70, 600, 16, 16};

static headwise_context *counted_context(enum headwise_isa isa, struct counting *counting) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(counting)};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

/* The caller's allocator gives every byte, with the alignment asked for, and gets it back. */
static void all_memory_is_the_callers(enum headwise_isa isa) {
    struct counting counting = COUNTING_UNLIMITED;
    struct test_rng rng = test_rng_make(191);
    headwise_context *context = counted_context(isa, &counting);
    struct headwise_mha_config config = {.d_model = 24, .n_heads = 4};
    layer_fill_weights(&rng, &config, true);
    headwise_mha *mha = layer_create(context, &config);
    struct call call = call_make(&rng, &large_shape, HEADWISE_F32, 0);
    call_run_with(context, &call);
    struct layer_call layer = layer_call_make(&rng, &config, 2, 70, -1, HEADWISE_F16);
    layer_run_with(context, mha, &layer);
    assert_true(counting.n_calls >= 3);
    headwise_context_destroy(context);
    headwise_mha_destroy(mha);
    counting_expect_balanced(&counting);
}

/* Repeating a shape, or a smaller one, allocates nothing; a larger one does, once. */
static void a_repeated_shape_allocates_nothing(enum headwise_isa isa) {
    struct counting counting = COUNTING_UNLIMITED;
    struct test_rng rng = test_rng_make(192);
    headwise_context *context = counted_context(isa, &counting);
    struct call small = call_make(&rng, &small_shape, HEADWISE_F32, 0);
    struct call large = call_make(&rng, &large_shape, HEADWISE_F32, 0);
    call_probe(&large, CALL_ALL, HEADWISE_SCORES_MASKED);
    call_run_with(context, &small);
    int64_t after_small = counting.n_calls;
    call_run_with(context, &large);
    int64_t after_large = counting.n_calls;
    assert_true(after_large > after_small);
    for (int i = 0; i < 3; i++) {
        call_run_with(context, &large);
        call_run_with(context, &small);
    }
    assert_int_equal(counting.n_calls, after_large);
    headwise_context_destroy(context);
    counting_expect_balanced(&counting);
}

/* The recipe for a service: measure once, reserve elsewhere, never allocate again. */
static void reserved_scratch_is_enough(enum headwise_isa isa) {
    struct counting counting = COUNTING_UNLIMITED;
    struct test_rng rng = test_rng_make(193);
    struct call large = call_make(&rng, &large_shape, HEADWISE_F32, 0);
    headwise_context *measured = counted_context(isa, &counting);
    call_run_with(measured, &large);
    size_t bytes = headwise_context_describe(measured)->scratch_bytes;
    assert_true(bytes > 0);
    headwise_context_destroy(measured);

    headwise_context *context = counted_context(isa, &counting);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, 0);
    assert_int_equal(headwise_context_reserve(context, bytes), HEADWISE_OK);
    int64_t reserved = counting.n_calls;
    call_run_with(context, &large);
    assert_int_equal(counting.n_calls, reserved);
    assert_int_equal(headwise_context_reserve(context, 1), HEADWISE_OK); /* never shrinks */
    assert_true(headwise_context_describe(context)->scratch_bytes >= bytes);
    assert_int_equal(headwise_context_reserve(NULL, 1), HEADWISE_ERR_INVALID);
    headwise_context_destroy(context);
    headwise_context_destroy(NULL);
    counting_expect_balanced(&counting);
}

/* What a large shape took goes on request, and comes back with the next one. */
static void scratch_shrinks_on_request(enum headwise_isa isa) {
    struct counting counting = COUNTING_UNLIMITED;
    struct test_rng rng = test_rng_make(195);
    struct call large = call_make(&rng, &large_shape, HEADWISE_F32, 0);
    headwise_context *context = counted_context(isa, &counting);
    assert_int_equal(headwise_context_trim(context, 0), HEADWISE_OK); /* there is none */
    call_run_with(context, &large);
    size_t bytes = headwise_context_describe(context)->scratch_bytes;
    int64_t live = counting.n_live;
    assert_int_equal(headwise_context_trim(context, bytes), HEADWISE_OK);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, bytes);
    assert_int_equal(headwise_context_trim(context, bytes - 1), HEADWISE_OK);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, 0);
    assert_int_equal(counting.n_live, live - 1);
    call_run_with(context, &large);
    assert_int_equal(headwise_context_describe(context)->scratch_bytes, bytes);
    assert_int_equal(headwise_context_trim(NULL, 0), HEADWISE_ERR_INVALID);
    headwise_context_destroy(context);
    counting_expect_balanced(&counting);
}

/* A pool's memory is its allocator's, its threads bound the contexts', and wrong options are told.
 */
static void pools_and_their_contexts(enum headwise_isa isa) {
    struct counting counting = COUNTING_UNLIMITED;
    headwise_pool *pool = NULL;
    headwise_context *context = NULL;
    struct headwise_pool_options options = {
        .size = sizeof(options), .n_threads = 3, .allocator = counting_allocator(&counting)};
    assert_int_equal(headwise_pool_create(&pool, &options), HEADWISE_OK);
    assert_int_equal(counting.n_calls, 1);
    struct headwise_context_options with = {
        .size = sizeof(with), .isa = isa, .n_threads = 1000, .pool = pool};
    assert_int_equal(headwise_context_create(&context, &with), HEADWISE_OK);
    assert_int_equal(headwise_context_describe(context)->n_threads, headwise_pool_threads(pool));
    headwise_context_destroy(context);
    with.n_threads = 2;
    assert_int_equal(headwise_context_create(&context, &with), HEADWISE_OK);
    assert_int_equal(headwise_context_describe(context)->n_threads, 2);
    headwise_context_destroy(context);
    with.parallel_for = (headwise_parallel_for_fn *)(uintptr_t)1;
    assert_int_equal(headwise_context_create(&context, &with), HEADWISE_ERR_INVALID);
    headwise_pool_destroy(pool);
    counting_expect_balanced(&counting);

    counting.fail_at = 0;
    headwise_pool *none = NULL;
    assert_int_equal(headwise_pool_create(&none, &options), HEADWISE_ERR_NO_MEMORY);
    options.n_threads = 1025;
    assert_int_equal(headwise_pool_create(&none, &options), HEADWISE_ERR_INVALID);
    options.n_threads = -1;
    assert_int_equal(headwise_pool_create(&none, &options), HEADWISE_ERR_INVALID);
    options = (struct headwise_pool_options){.size = 0};
    assert_int_equal(headwise_pool_create(&none, &options), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_pool_create(NULL, NULL), HEADWISE_ERR_INVALID);
    assert_null(none);
    assert_int_equal(headwise_pool_create(&none, NULL), HEADWISE_OK);
    assert_true(headwise_pool_threads(none) >= 1);
    headwise_pool_destroy(none);
}

static void thread_counts(enum headwise_isa isa) {
    headwise_context *context = NULL;
    for (int n = 1; n <= 1024; n *= 4) {
        struct headwise_context_options options = {
            .size = sizeof(options), .isa = isa, .n_threads = n};
        assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
        assert_int_equal(headwise_context_describe(context)->n_threads, n);
        headwise_context_destroy(context);
    }
    struct headwise_context_options automatic = {.size = sizeof(automatic), .isa = isa};
    assert_int_equal(headwise_context_create(&context, &automatic), HEADWISE_OK);
    assert_int_equal(headwise_context_describe(context)->n_threads, headwise_default_threads());
    assert_true(headwise_default_threads() >= 1);
    headwise_context_destroy(context);
    assert_int_equal(headwise_context_create(&context, NULL), HEADWISE_OK);
    headwise_context_destroy(context);
}

/* Sizes are those of a released version: not one in the middle of a field is taken. A longer struct
 * is a newer version's, and taken while it asks for nothing more. */
static void only_known_sizes_are_accepted(enum headwise_isa isa) {
    struct {
        struct headwise_context_options known;
        unsigned char more[24];
    } options = {.known = {.isa = isa, .n_threads = 2}};
    headwise_context *context = NULL;
    for (size_t size = 0; size < sizeof options.known; size++) {
        options.known.size = size;
        assert_int_equal(headwise_context_create(&context, &options.known), HEADWISE_ERR_INVALID);
    }
    for (size_t size = sizeof options.known; size <= sizeof options; size++) {
        options.known.size = size;
        assert_int_equal(headwise_context_create(&context, &options.known), HEADWISE_OK);
        assert_int_equal(headwise_context_describe(context)->n_threads, 2);
        headwise_context_destroy(context);
    }
    options.known.size = sizeof options;
    options.more[23] = 1;
    assert_int_equal(headwise_context_create(&context, &options.known), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "expected zeros"));
    options.known.size = SIZE_MAX / 2; /* what is behind is not read */
    assert_int_equal(headwise_context_create(&context, &options.known), HEADWISE_ERR_INVALID);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(all_memory_is_the_callers),     TEST_CASE(a_repeated_shape_allocates_nothing),
        TEST_CASE(reserved_scratch_is_enough),    TEST_CASE(thread_counts),
        TEST_CASE(only_known_sizes_are_accepted), TEST_CASE(scratch_shrinks_on_request),
        TEST_CASE(pools_and_their_contexts),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
