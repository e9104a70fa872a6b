/* Threads with 16 KB of stack create contexts and run calls. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "headwise/headwise.h"
#include "runner.h"

enum { STACK_BYTES = 16 * 1024, WIDTH = 320, ROWS = 300 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

struct user {
    enum headwise_isa isa;
    int n_threads;
    enum headwise_dtype packed;
    float *x, *y, *weights;
    headwise_pool *pool;
    const char *failed; /* what did, or NULL */
};

static const char *use(const struct user *user, headwise_context *context) {
    headwise_mha *layer = NULL;
    const struct headwise_mha_config config = {.size = sizeof(config),
                                               .d_model = WIDTH,
                                               .n_heads = 4,
                                               .w_q = user->weights,
                                               .w_k = user->weights,
                                               .w_v = user->weights,
                                               .w_o = user->weights,
                                               .packed_dtype = user->packed,
                                               .dynamic_int8 = user->packed == HEADWISE_I8};
    struct headwise_tensor x = headwise_tensor_brhc(user->x, HEADWISE_F32, 1, ROWS, 1, WIDTH);
    struct headwise_tensor y = headwise_tensor_brhc(user->y, HEADWISE_F32, 1, ROWS, 1, WIDTH);
    if (headwise_mha_create(&layer, context, &config) != HEADWISE_OK)
        return "create a layer";
    const struct headwise_attention_call call = {.size = sizeof(call), .y = &y, .x = &x};
    enum headwise_status status = headwise_mha_forward(context, layer, &call);
    headwise_mha_destroy(layer);
    return status == HEADWISE_OK ? NULL : "forward";
}

static void *run_user(void *arg) {
    struct user *user = arg;
    headwise_context *context = NULL;
    const struct headwise_context_options options = {.size = sizeof(options),
                                                     .isa = user->isa,
                                                     .n_threads = user->n_threads,
                                                     .pool = user->pool};
    user->failed = "create a context";
    if (headwise_context_create(&context, &options) == HEADWISE_OK)
        user->failed = use(user, context);
    headwise_context_destroy(context);
    return NULL;
}

static void run_with_small_stack(struct user *user) {
    pthread_attr_t attributes;
    pthread_t thread = 0;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, run_user, user) != 0)
        test_skip("this system has no stacks of 16 KB");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (user->failed != NULL)
        fail_msg("a thread with %d bytes of stack could not %s", STACK_BYTES, user->failed);
}

static void callers_with_16_kilobytes(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_I8};
    if (SANITIZED)
        test_skip("sanitizers need more stack than that");
    for (int kind = 0; kind < 3; kind++) /* the default number of threads, one, a pool */
        for (size_t t = 0; t < TEST_COUNT(types); t++) {
            struct user user = {.isa = isa,
                                .n_threads = kind == 1,
                                .packed = types[t],
                                .x = guard_plain(ROWS * WIDTH, sizeof(float)),
                                .y = guard_plain(ROWS * WIDTH, sizeof(float)),
                                .weights = guard_plain(WIDTH * WIDTH, sizeof(float))};
            for (int i = 0; i < WIDTH * WIDTH; i++)
                user.weights[i] = (float)(i % 31) / 1024;
            for (int i = 0; i < ROWS * WIDTH; i++)
                user.x[i] = (float)(i % 17) - 8;
            if (kind == 2)
                assert_int_equal(headwise_pool_create(&user.pool, NULL), HEADWISE_OK);
            run_with_small_stack(&user);
            headwise_pool_destroy(user.pool);
        }
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(callers_with_16_kilobytes)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
