/* Inside someone else's process: several host threads, an OpenMP program, fork(). */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static const struct call_shape shape = {2, 4, 2, 64, 600, 32, 32};
enum { N_FLOATS = 2 * 4 * 64 * 32 };

/* Runs the same call again into y. */
static enum headwise_status run_into(headwise_context *context, const struct call *call, float *y) {
    struct call again = *call;
    again.y.data = y;
    return call_try(context, &again);
}

static int count_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n - 2; /* . and .. */
}

struct host {
    pthread_t thread;
    const struct call *call;
    enum headwise_isa isa;
    float *y;
    bool failed;
};

static void *run_host(void *pointer) {
    struct host *host = pointer;
    headwise_context *context = NULL;
    struct headwise_context_options options = {
        .size = sizeof(options), .isa = host->isa, .n_threads = 3};
    host->failed = headwise_context_create(&context, &options) != HEADWISE_OK;
    for (int i = 0; i < 20 && !host->failed; i++)
        host->failed = run_into(context, host->call, host->y) != HEADWISE_OK;
    headwise_context_destroy(context);
    return NULL;
}

static void host_threads_with_contexts_of_their_own(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(241);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct host hosts[3];
    call_run(isa, &call);
    for (size_t h = 0; h < TEST_COUNT(hosts); h++) {
        hosts[h] = (struct host){.call = &call, .isa = isa, .y = guard_floats(N_FLOATS)};
        assert_int_equal(pthread_create(&hosts[h].thread, NULL, run_host, &hosts[h]), 0);
    }
    for (size_t h = 0; h < TEST_COUNT(hosts); h++) {
        pthread_join(hosts[h].thread, NULL);
        assert_false(hosts[h].failed);
        compare_same_bits(hosts[h].y, call.y.data, N_FLOATS, "host thread %zu", h);
    }
}

/* A caller inside its own parallel region gets a serial call: no team inside a team. */
static void inside_a_parallel_region(enum headwise_isa isa) {
#ifdef _OPENMP
    struct test_rng rng = test_rng_make(242);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    enum { TEAM = 3 };
    headwise_context *contexts[TEAM];
    float *ys[TEAM];
    int n_failed = 0, most_threads = 0, n_members = 0;
    for (int t = 0; t < TEAM; t++) {
        contexts[t] = call_context(isa, 8);
        ys[t] = guard_floats(N_FLOATS);
    }
    call_run(isa, &call);
    int before = count_threads();
    omp_set_max_active_levels(4); /* nested teams would be granted */
#pragma omp parallel num_threads(TEAM) reduction(+ : n_failed, n_members) \
    reduction(max : most_threads)
    {
        int t = omp_get_thread_num();
        n_members = 1;
        n_failed = run_into(contexts[t], &call, ys[t]) != HEADWISE_OK;
        most_threads = count_threads();
    }
    omp_set_max_active_levels(1);
    assert_int_equal(n_failed, 0);
    assert_true(most_threads <= before + TEAM);
    for (int t = 0; t < n_members; t++) {
        compare_same_bits(ys[t], call.y.data, N_FLOATS, "member %d of the team", t);
        headwise_context_destroy(contexts[t]);
    }
#else
    (void)isa;
    test_skip("built without OpenMP");
#endif
}

/* A context whose call asks whether to go on, and then is used by another thread too. */
struct shared_context {
    headwise_context *context;
    const struct call *call;
    float *y;
    int n_asked;
    enum headwise_status attended, reserved, trimmed;
};

static void *use_context(void *pointer) {
    struct shared_context *shared = pointer;
    shared->attended = run_into(shared->context, shared->call, shared->y);
    shared->reserved = headwise_context_reserve(shared->context, 1);
    shared->trimmed = headwise_context_trim(shared->context, 0);
    return NULL;
}

static bool intrude(void *pointer) {
    struct shared_context *shared = pointer;
    pthread_t thread;
    if (shared->n_asked++ == 0 && pthread_create(&thread, NULL, use_context, shared) == 0)
        pthread_join(thread, NULL);
    return false;
}

/* It is the program's fault, and builds with assertions say so. */
static void one_context_in_two_threads(enum headwise_isa isa) {
#ifdef NDEBUG
    (void)isa;
    test_skip("built without assertions");
#else
    struct test_rng rng = test_rng_make(244);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct shared_context shared = {.call = &call, .y = guard_floats(N_FLOATS)};
    const struct headwise_context_options options = {.size = sizeof(options),
                                                     .isa = isa,
                                                     .n_threads = 1,
                                                     .cancelled = intrude,
                                                     .cancel_user = &shared};
    float *y = guard_floats(N_FLOATS);
    call_run(isa, &call);
    assert_int_equal(headwise_context_create(&shared.context, &options), HEADWISE_OK);
    assert_int_equal(run_into(shared.context, &call, y), HEADWISE_OK);
    compare_same_bits(y, call.y.data, N_FLOATS, "the call that was disturbed");
    assert_int_equal(shared.attended, HEADWISE_ERR_INVALID);
    assert_int_equal(shared.reserved, HEADWISE_ERR_INVALID);
    assert_int_equal(shared.trimmed, HEADWISE_ERR_INVALID);
    guard_expect_untouched(shared.y, N_FLOATS * sizeof(float), "y of the refused call");
    use_context(&shared); /* one after the other is fine */
    assert_int_equal(shared.attended, HEADWISE_OK);
    headwise_context_destroy(shared.context);
#endif
}

/* The child of a process whose OpenMP team is gone must neither hang nor give other bits. */
static void after_a_fork(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(243);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    headwise_context *context = call_context(isa, 4);
    float *y = guard_floats(N_FLOATS);
    call_run_with(context, &call);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(30);
        headwise_context *fresh = NULL;
        struct headwise_context_options options = {
            .size = sizeof(options), .isa = isa, .n_threads = 4};
        bool ok = run_into(context, &call, y) == HEADWISE_OK &&
                  memcmp(y, call.y.data, N_FLOATS * sizeof(float)) == 0;
        memset(y, 0, N_FLOATS * sizeof(float));
        ok = ok && headwise_context_create(&fresh, &options) == HEADWISE_OK &&
             run_into(fresh, &call, y) == HEADWISE_OK &&
             memcmp(y, call.y.data, N_FLOATS * sizeof(float)) == 0;
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child died of signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(run_into(context, &call, y), HEADWISE_OK); /* the parent goes on */
    compare_same_bits(y, call.y.data, N_FLOATS, "parent after the fork");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(host_threads_with_contexts_of_their_own),
        TEST_CASE(inside_a_parallel_region),
        TEST_CASE(one_context_in_two_threads),
        TEST_CASE(after_a_fork),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
