/* Forks, and programs of which OpenMP has threads already. Each case runs in a process of its own,
 * in which this library has not been called. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "headwise/headwise.h"
#include "runner.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

enum { ROWS = 64, HEADS = 8, DIM = 64, N = ROWS * HEADS * DIM };

static float x[N], y[N], want[N];

static enum headwise_status attend(headwise_context *context, float *out) {
    struct headwise_tensor q = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    struct headwise_tensor o = headwise_tensor_brhc(out, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &o, .q = &q, .k = &q, .v = &q};
    return headwise_attention(context, &call);
}

static headwise_context *make_context(int n_threads, headwise_pool *pool) {
    headwise_context *context = NULL;
    const struct headwise_context_options options = {
        .size = sizeof(options), .n_threads = n_threads, .pool = pool};
    return headwise_context_create(&context, &options) == HEADWISE_OK ? context : NULL;
}

/* Whether a call gives the bits that a thread alone gives. */
static bool is_right(headwise_context *context) {
    memset(y, 0, sizeof(y));
    return context != NULL && attend(context, y) == HEADWISE_OK &&
           memcmp(y, want, sizeof(want)) == 0;
}

static bool fresh_is_right(int n_threads) {
    headwise_context *context = make_context(n_threads, NULL);
    bool right = is_right(context);
    headwise_context_destroy(context);
    return right;
}

/* What a child's exit code says: 0 is good. */
typedef int scenario_fn(void);

static int run_child(scenario_fn *scenario) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        _exit(scenario());
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 100;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* The inputs, and the outputs of this thread alone: no other is made. */
static void prepare(void) {
    headwise_context *alone = make_context(1, NULL);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 13) / 8 - 0.75f;
    assert_int_equal(attend(alone, want), HEADWISE_OK);
    headwise_context_destroy(alone);
}

static void expect_code(int code) {
    if (code >= 100)
        fail_msg("killed by signal %d", code - 100);
    assert_int_equal(code, 0);
}

static void expect_good(scenario_fn *scenario) {
    prepare();
    expect_code(run_child(scenario));
}

#ifdef _OPENMP
/* The program's own parallel region. */
static bool use_team(void) {
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
    n += 1;
    return n >= 1;
}

static int call_in_child(void) {
    return fresh_is_right(2) ? 0 : 1;
}

static int after_a_team_of_others(void) {
    int code = use_team() ? run_child(call_in_child) : 2;
    return code != 0 ? code : fresh_is_right(2) ? 0 : 3; /* the parent goes on */
}

static headwise_context *kept;

static int call_kept_in_child(void) {
    return is_right(kept) ? 0 : 1;
}

static int context_then_a_team_of_others(void) {
    kept = make_context(2, NULL);
    int code = use_team() ? run_child(call_kept_in_child) : 2;
    return code != 0 ? code : is_right(kept) ? 0 : 3;
}

static int own_team_then_fork_twice(void) {
    kept = make_context(2, NULL);
    if (!is_right(kept))
        return 2;
    int code = run_child(call_kept_in_child);
    if (code == 0)
        code = run_child(call_in_child);
    return code != 0 ? code : is_right(kept) ? 0 : 3;
}
#endif

static void children_of_openmp_programs(enum headwise_isa unused) {
    (void)unused;
#ifdef _OPENMP
    expect_good(after_a_team_of_others);
    expect_good(context_then_a_team_of_others);
    expect_good(own_team_then_fork_twice);
#else
    test_skip("built without OpenMP");
#endif
}

static headwise_pool *shared_pool;
static headwise_context *pooled;

static int use_pool_in_child(void) {
    if (!is_right(pooled))
        return 1;
    headwise_context_destroy(pooled);
    headwise_pool_destroy(shared_pool);
    if (SANITIZED) /* the thread sanitizer allows no new thread in such a child */
        return 0;
    if (headwise_pool_create(&shared_pool, NULL) != HEADWISE_OK)
        return 2;
    pooled = make_context(0, shared_pool);
    if (!is_right(pooled))
        return 3;
    headwise_context_destroy(pooled);
    headwise_pool_destroy(shared_pool);
    return 0;
}

static int pool_then_fork(void) {
    const struct headwise_pool_options options = {.size = sizeof(options), .n_threads = 3};
    if (headwise_pool_create(&shared_pool, &options) != HEADWISE_OK)
        return 4;
    pooled = make_context(0, shared_pool);
    for (int i = 0; i < 5; i++) {
        int code = is_right(pooled) ? run_child(use_pool_in_child) : 5;
        if (code != 0 || !is_right(pooled))
            return code != 0 ? code : 6;
    }
    headwise_context_destroy(pooled);
    headwise_pool_destroy(shared_pool);
    return 0;
}

static void a_pool_and_a_fork(enum headwise_isa unused) {
    (void)unused;
    if (getenv("HEADWISE_TEST_EMULATED"))
        test_skip("an emulator's forked child cannot make threads");
    expect_good(pool_then_fork);
}

/* As a user that may make no thread. Root is not limited, and so becomes nobody. */
enum { NOBODY = 65534, NOT_LIMITED = 77 };

static int without_threads(void) {
    const struct rlimit none = {1, 1};
    const struct headwise_pool_options options = {.size = sizeof(options), .n_threads = 4};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(NOBODY) != 0))
        return NOT_LIMITED;
    if (headwise_pool_create(&shared_pool, &options) != HEADWISE_OK)
        return 1;
    if (headwise_pool_threads(shared_pool) != 1)
        return NOT_LIMITED;
    pooled = make_context(0, shared_pool);
    bool right = headwise_context_describe(pooled)->n_threads == 1 && is_right(pooled);
    headwise_context_destroy(pooled);
    headwise_pool_destroy(shared_pool);
    return right && fresh_is_right(3) && fresh_is_right(2) ? 0 : 2;
}

static void where_no_thread_can_be_made(enum headwise_isa unused) {
    (void)unused;
    prepare();
    int code = run_child(without_threads);
    if (code == NOT_LIMITED)
        test_skip("the number of processes cannot be limited here");
    expect_code(code);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(children_of_openmp_programs),
        TEST_CASE(a_pool_and_a_fork),
        TEST_CASE(where_no_thread_can_be_made),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
