/* One answer: the bits do not depend on the number of threads, or on who runs the tasks. */
#include <pthread.h>
#include <stdlib.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

static const int thread_counts[] = {1, 2, 3, 5, 8, 16};

static headwise_context *context_with(enum headwise_isa isa, int n_threads,
                                      headwise_parallel_for_fn *parallel_for, void *user) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = n_threads,
                                               .parallel_for = parallel_for,
                                               .parallel_user = user};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

/* Pools of thread_counts threads, for the whole program, and contexts with one of them. */
static headwise_pool *pools[TEST_COUNT(thread_counts)];

static headwise_context *context_of_pool(enum headwise_isa isa, size_t t) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa};
    struct headwise_pool_options pool = {.size = sizeof(pool), .n_threads = thread_counts[t]};
    if (pools[t] == NULL)
        assert_int_equal(headwise_pool_create(&pools[t], &pool), HEADWISE_OK);
    options.pool = pools[t];
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

/* Contexts of each number of threads: OpenMP's, or none where that is not built, then pools'. */
enum { N_KINDS = 2 * TEST_COUNT(thread_counts) };

static headwise_context *context_of_kind(enum headwise_isa isa, size_t kind) {
    return kind < TEST_COUNT(thread_counts)
               ? call_context(isa, thread_counts[kind])
               : context_of_pool(isa, kind - TEST_COUNT(thread_counts));
}

static void expect_same_for_counts(enum headwise_isa isa, struct call *reference) {
    call_run(isa, reference);
    for (size_t t = 0; t < N_KINDS; t++) {
        struct call call = *reference;
        call_new_outputs(&call);
        headwise_context *context = context_of_kind(isa, t);
        call_run_with(context, &call);
        headwise_context_destroy(context);
        call_expect_same(&call, reference, "threads");
    }
}

/* One query against many keys: the case where keys are split between threads. */
static void one_query_long_keys(enum headwise_isa isa) {
    const int64_t keys[] = {513, 4097}, heads[] = {1, 2, 4, 7};
    struct test_rng rng = test_rng_make(231);
    for (size_t k = 0; k < TEST_COUNT(keys); k++)
        for (size_t h = 0; h < TEST_COUNT(heads); h++)
            for (int causal = 0; causal < 2; causal++) {
                const struct call_shape shape = {1, heads[h], 1, 1, keys[k], 64, 48};
                struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
                int64_t length = keys[k] - 200;
                call.options.causal = causal ? HEADWISE_CAUSAL_BOTTOM_RIGHT : HEADWISE_CAUSAL_NONE;
                call.given.key_lengths = causal ? &length : NULL;
                if (h % 2 == 1)
                    call_probe(&call, CALL_ALL, HEADWISE_SCORES_WEIGHTS);
                expect_same_for_counts(isa, &call);
                guard_reset();
            }
}

/* Few queries where a window shows a stretch of the keys, and perhaps the first ones. */
static void few_queries_far_in_a_window(enum headwise_isa isa) {
    const int64_t positions[] = {4000, 2100, 250}, firsts[] = {0, 5, 300}, lefts[] = {0, 300, 1100};
    struct test_rng rng = test_rng_make(235);
    for (int64_t i = 0; i < 3 * 3 * 2; i += test_share()) {
        int64_t p = i / 6, f = i / 2 % 3;
        const struct call_shape shape = {1, 3, 1, 1 + i % 2 * 2, 4097, 64, 48};
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        call.given.query_offsets = &positions[p];
        call.options.window_is_set = true;
        call.options.window_left = lefts[(p + f) % 3];
        call.options.window_first = firsts[f];
        if (f == 1)
            call_probe(&call, CALL_LSE | CALL_HEADS, HEADWISE_SCORES_WEIGHTS);
        if (f == 2)
            call_probe(&call, CALL_WEIGHTS | CALL_SCORES, HEADWISE_SCORES_MASKED);
        expect_same_for_counts(isa, &call);
        guard_reset();
    }
}

static void many_queries_and_heads(enum headwise_isa isa) {
    const struct call_shape shapes[] = {
        {2, 6, 2, 70, 600, 16, 24}, {3, 5, 5, 3, 40, 37, 8}, {1, 1, 1, 300, 300, 64, 64}};
    struct test_rng rng = test_rng_make(232);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (unsigned wants = 0; wants <= CALL_ALL; wants += CALL_ALL) {
            struct call call = call_make(&rng, &shapes[s], HEADWISE_F16, 0);
            call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
            if (wants != 0)
                call_probe(&call, wants, HEADWISE_SCORES_MASKED);
            expect_same_for_counts(isa, &call);
            guard_reset();
        }
}

static void layers(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(233);
    struct headwise_mha_config config = {.d_model = 96, .n_heads = 6, .n_kv_heads = 3, .d_out = 70};
    layer_fill_weights(&rng, &config, true);
    for (int64_t rows = 1; rows <= 301; rows += 100) {
        struct layer_call first = layer_call_make(&rng, &config, 2, rows, -1, HEADWISE_F32);
        layer_call_probe(&first, HEADWISE_SCORES_MASKED);
        for (size_t t = 0; t < N_KINDS; t++) {
            struct layer_call call = first;
            headwise_context *context = context_of_kind(isa, t);
            headwise_mha *mha = layer_create(context, &config);
            if (t > 0) {
                call.y = call_tensor(HEADWISE_F32, 2, 1, rows, 70, NULL);
                layer_call_probe(&call, HEADWISE_SCORES_MASKED);
            }
            layer_run_with(context, mha, &call);
            headwise_mha_destroy(mha);
            headwise_context_destroy(context);
            compare_same_bits(call.y.data, first.y.data, (size_t)(2 * rows * 70), "y");
            compare_same_bits(call.probe.contributions, first.probe.contributions,
                              (size_t)(2 * 6 * rows * 70), "contributions");
            compare_same_bits(call.probe.mean_weights, first.probe.mean_weights,
                              (size_t)(2 * rows * rows), "mean weights");
        }
    }
}

/* What a worker has packed of x serves its next task only where that reads the same rows of the
 * same x: inputs in several slices, queries and a memory in turn, and then other numbers. */
static void packed_inputs_are_not_mixed_up(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(235);
    struct headwise_mha_config config = {.d_model = 1100,
                                         .d_memory = 1030,
                                         .n_heads = 2,
                                         .head_dim = 40,
                                         .value_dim = 40,
                                         .d_out = 40};
    layer_fill_weights(&rng, &config, true);
    headwise_context *contexts[] = {call_context(isa, 1), call_context(isa, 2),
                                    call_context(isa, 3), context_of_pool(isa, 1),
                                    context_of_pool(isa, 2)};
    headwise_mha *mha = layer_create(contexts[0], &config);
    for (int round = 0; round < 3; round++) {
        struct layer_call first = layer_call_make(&rng, &config, 1, 300, 310, HEADWISE_F32);
        layer_run_with(contexts[0], mha, &first);
        for (size_t i = 1; i < TEST_COUNT(contexts); i++) {
            struct layer_call call = first;
            call.y = call_tensor(HEADWISE_F32, 1, 1, 300, 40, NULL);
            layer_run_with(contexts[i], mha, &call);
            compare_same_bits(call.y.data, first.y.data, 300 * 40, "y, round %d", round);
        }
    }
    headwise_mha_destroy(mha);
    for (size_t i = 0; i < TEST_COUNT(contexts); i++)
        headwise_context_destroy(contexts[i]);
}

/* The caller's loop: backwards, on the calling thread alone. */
static void backwards(void *user, int64_t n_tasks, headwise_task_fn *task, void *arg) {
    for (int64_t i = n_tasks - 1; i >= 0; i--)
        task(arg, i, (int)(i % 2));
    *(int64_t *)user += n_tasks;
}

enum { POOL = 4 };

struct pool_thread {
    pthread_t thread;
    int worker;
    int64_t n_tasks;
    headwise_task_fn *task;
    void *arg;
};

static void *run_pool_thread(void *pointer) {
    struct pool_thread *self = pointer;
    for (int64_t i = self->worker; i < self->n_tasks; i += POOL)
        self->task(self->arg, i, self->worker);
    return NULL;
}

/* The caller's loop: threads of its own. */
static void pooled(void *user, int64_t n_tasks, headwise_task_fn *task, void *arg) {
    struct pool_thread threads[POOL];
    for (int w = 0; w < POOL; w++) {
        threads[w] =
            (struct pool_thread){.worker = w, .n_tasks = n_tasks, .task = task, .arg = arg};
        assert_int_equal(pthread_create(&threads[w].thread, NULL, run_pool_thread, &threads[w]), 0);
    }
    for (int w = 0; w < POOL; w++)
        pthread_join(threads[w].thread, NULL);
    *(int64_t *)user += n_tasks;
}

static void the_callers_own_loop(enum headwise_isa isa) {
    const struct call_shape shapes[] = {{2, 6, 2, 70, 600, 16, 24}, {1, 2, 1, 1, 4097, 64, 64}};
    headwise_parallel_for_fn *loops[] = {backwards, pooled};
    struct test_rng rng = test_rng_make(234);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (size_t l = 0; l < TEST_COUNT(loops); l++) {
            struct call alone = call_make(&rng, &shapes[s], HEADWISE_F32, 0), call = alone;
            int64_t n_tasks = 0;
            headwise_context *one = call_context(isa, 1);
            headwise_context *own = context_with(isa, POOL, loops[l], &n_tasks);
            call_new_outputs(&call);
            call_run_with(one, &alone);
            call_run_with(own, &call);
            call_expect_same(&call, &alone, "own loop");
            assert_true(n_tasks > 1); /* it was used */
            headwise_context_destroy(one);
            headwise_context_destroy(own);
            guard_reset();
        }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(one_query_long_keys),
        TEST_CASE(few_queries_far_in_a_window),
        TEST_CASE(many_queries_and_heads),
        TEST_CASE(layers),
        TEST_CASE(packed_inputs_are_not_mixed_up),
        TEST_CASE(the_callers_own_loop),
    };
    int result = test_run_tiers(cases, TEST_COUNT(cases));
    for (size_t t = 0; t < TEST_COUNT(thread_counts); t++)
        headwise_pool_destroy(pools[t]);
    return result;
}
