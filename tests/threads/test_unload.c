/* A plug-in host loads the library, calls it on several threads, unloads it and forks, again and
 * again. test_threads_unload LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "headwise/headwise.h"

enum { ROUNDS = 50, ROWS = 64, HEADS = 8, DIM = 64 };

static const char *library;
static float x[ROWS * HEADS * DIM], y[ROWS * HEADS * DIM], want[ROWS * HEADS * DIM];

/* The functions that a round calls, found by name. */
struct functions {
    void *handle;
    __typeof__(&headwise_context_create) create;
    __typeof__(&headwise_context_destroy) destroy;
    __typeof__(&headwise_pool_create) create_pool;
    __typeof__(&headwise_pool_destroy) destroy_pool;
    __typeof__(&headwise_tensor_brhc) tensor;
    __typeof__(&headwise_attention) attention;
};

static void find(void *function, void *handle, const char *name) {
    void *found = dlsym(handle, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof(found));
}

static struct functions load(void) {
    struct functions f = {.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (f.handle == NULL)
        fail_msg("%s", dlerror());
    find(&f.create, f.handle, "headwise_context_create");
    find(&f.destroy, f.handle, "headwise_context_destroy");
    find(&f.create_pool, f.handle, "headwise_pool_create");
    find(&f.destroy_pool, f.handle, "headwise_pool_destroy");
    find(&f.tensor, f.handle, "headwise_tensor_brhc");
    find(&f.attention, f.handle, "headwise_attention");
    return f;
}

static void attend(const struct functions *f, headwise_context *context, float *out) {
    struct headwise_tensor q = f->tensor(x, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    struct headwise_tensor o = f->tensor(out, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &o, .q = &q, .k = &q, .v = &q};
    assert_int_equal(f->attention(context, &call), HEADWISE_OK);
}

static void run_round(bool with_pool, int n_threads, float *out) {
    struct functions f = load();
    const struct headwise_pool_options pool_options = {.size = sizeof(pool_options),
                                                       .n_threads = n_threads};
    struct headwise_context_options options = {.size = sizeof(options), .n_threads = n_threads};
    headwise_context *context = NULL;
    if (with_pool)
        assert_int_equal(f.create_pool(&options.pool, &pool_options), HEADWISE_OK);
    assert_int_equal(f.create(&context, &options), HEADWISE_OK);
    attend(&f, context, out);
    f.destroy(context);
    f.destroy_pool(options.pool);
    assert_int_equal(dlclose(f.handle), 0);
}

static void expect_fork(void) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void rounds(bool with_pool) {
    alarm(100); /* a hang is a failure */
    for (int i = 0; i < ROUNDS; i++) {
        memset(y, 0, sizeof(y));
        run_round(with_pool, 2 + i % 3, y);
        assert_memory_equal(y, want, sizeof(want));
        expect_fork();
    }
    alarm(0);
}

static void unloaded_50_times(void **state) {
    (void)state;
    rounds(false);
}

static void unloaded_50_times_with_a_pool(void **state) {
    (void)state;
    rounds(true);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded_50_times),
        cmocka_unit_test(unloaded_50_times_with_a_pool),
    };
    if (argc != 2)
        return 2;
    library = argv[1];
    for (int i = 0; i < ROWS * HEADS * DIM; i++)
        x[i] = (float)(i % 13) / 8 - 0.75f;
    run_round(false, 1, want);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
