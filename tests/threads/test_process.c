/* What belongs to the process stays as it was: OpenMP's settings, affinity, environment, the
 * floating-point environment. */
#define _GNU_SOURCE
#include <fenv.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

extern char **environ;

/* Modes of the floating-point unit: rounding, flushing, traps; not the sticky flags. */
static uint64_t float_modes(void) {
#if defined(__x86_64__)
    return _mm_getcsr() & ~UINT64_C(0x3f);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#else
    return (uint64_t)fegetround();
#endif
}

struct settings {
    cpu_set_t affinity;
    uint64_t environment;
    uint64_t modes;
    int rounding;
    int omp[5];
};

static struct settings read_settings(void) {
    struct settings s;
    memset(&s, 0, sizeof(s));
    assert_int_equal(sched_getaffinity(0, sizeof(s.affinity), &s.affinity), 0);
    s.environment = COMPARE_HASH_BASIS;
    for (char **e = environ; *e != NULL; e++)
        s.environment = compare_hash(s.environment, *e, strlen(*e) + 1);
    s.modes = float_modes();
    s.rounding = fegetround();
#ifdef _OPENMP
    omp_sched_t kind;
    s.omp[0] = omp_get_max_threads();
    s.omp[1] = omp_get_dynamic();
    s.omp[2] = omp_get_max_active_levels();
    omp_get_schedule(&kind, &s.omp[3]);
    s.omp[4] = (int)kind;
#endif
    return s;
}

static void run_everything(enum headwise_isa isa, float *y) {
    const struct call_shape shape = {2, 4, 2, 64, 600, 32, 32};
    struct test_rng rng = test_rng_fixed(251);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_mha_config config = {.d_model = 64, .n_heads = 8};
    call.options.softcap = 20;
    call_probe(&call, CALL_ALL, HEADWISE_SCORES_MASKED);
    layer_fill_weights(&rng, &config, true);
    struct layer_call layer = layer_call_make(&rng, &config, 2, 100, -1, HEADWISE_F16);
    headwise_context *context = call_context(isa, 3);
    headwise_mha *mha = layer_create(context, &config);
    call_run_with(context, &call);
    layer_run_with(context, mha, &layer);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    if (y != NULL)
        memcpy(y, call.y.data, (size_t)2 * 4 * 64 * 32 * sizeof(float));
}

static void settings_are_unchanged(enum headwise_isa isa) {
    struct settings before = read_settings();
    run_everything(isa, NULL);
    struct settings after = read_settings();
    assert_memory_equal(&after, &before, sizeof(before));
}

/* Also a caller's unusual modes: rounding upwards, and flushing of subnormals on x86. */
static void unusual_float_modes_are_kept(enum headwise_isa isa) {
    fenv_t saved;
    assert_int_equal(fegetenv(&saved), 0);
    assert_int_equal(fesetround(FE_UPWARD), 0);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
#endif
    struct settings before = read_settings();
    run_everything(isa, NULL);
    struct settings after = read_settings();
    fesetenv(&saved);
    assert_memory_equal(&after, &before, sizeof(before));
}

/* The OpenMP settings of the program do not change the result. */
static void the_programs_openmp_settings_do_not_matter(enum headwise_isa isa) {
#ifdef _OPENMP
    float *first = guard_floats(2 * 4 * 64 * 32), *second = guard_floats(2 * 4 * 64 * 32);
    run_everything(isa, first);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    omp_set_dynamic(1);
    run_everything(isa, second);
    assert_int_equal(omp_get_max_threads(), 1);
    assert_int_equal(omp_get_dynamic(), 1);
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    compare_same_bits(second, first, (size_t)2 * 4 * 64 * 32, "one OpenMP thread");
#else
    (void)isa;
    test_skip("built without OpenMP");
#endif
}

/* A process that may use one processor gets one thread. */
static void affinity_limits_the_default(enum headwise_isa isa) {
    cpu_set_t all;
    (void)isa;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_true(headwise_default_threads() >= 1);
    assert_true(headwise_default_threads() <= CPU_COUNT(&all));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cpu_set_t one;
        int cpu = 0;
        while (!CPU_ISSET(cpu, &all))
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        headwise_context *context = NULL;
        if (sched_setaffinity(0, sizeof(one), &one) != 0)
            _exit(2);
        if (headwise_default_threads() != 1 || headwise_context_create(&context, NULL) != 0)
            _exit(3);
        _exit(headwise_context_describe(context)->n_threads == 1 ? 0 : 4);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What the default is under two variables; -1 where a context cannot be created for them. */
static int default_under(const char *headwise, const char *openmp) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        headwise_context *context = NULL;
        if (headwise != NULL)
            setenv("HEADWISE_NUM_THREADS", headwise, 1);
        if (openmp != NULL)
            setenv("OMP_NUM_THREADS", openmp, 1);
        enum headwise_status made = headwise_context_create(&context, NULL);
        if (made == HEADWISE_ERR_INVALID)
            _exit(strstr(headwise_last_error(), "HEADWISE_NUM_THREADS") != NULL &&
                          headwise_pool_create(&(headwise_pool *){NULL}, NULL) == made
                      ? 255
                      : 254);
        _exit(made == HEADWISE_OK &&
                      headwise_context_describe(context)->n_threads == headwise_default_threads()
                  ? headwise_default_threads()
                  : 254);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 254);
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

static void the_environment_bounds_the_default(enum headwise_isa isa) {
    static const char *const wrong[] = {
        "two", "0", "-1", "1025", "2x", "1,2", "99999999999999999999"};
    (void)isa;
    unsetenv("HEADWISE_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
    int all = headwise_default_threads();
    assert_in_range(all, 1, 250);
    assert_int_equal(default_under("1", NULL), 1);
    assert_int_equal(default_under(" 1 ", NULL), 1);
    assert_int_equal(default_under(NULL, "1"), 1);
    assert_int_equal(default_under(NULL, "1,4"), 1); /* of nested regions: the outermost counts */
    assert_int_equal(default_under("1000", "1000"), all); /* never more than the machine */
    assert_int_equal(default_under("", ""), all);
    assert_int_equal(default_under(NULL, "many"), all); /* OpenMP's own: ignored, as it does */
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_int_equal(default_under(wrong[i], NULL), -1);
    if (all > 1)
        assert_int_equal(default_under("2", "8"), 2);
}

/* A flag that was set before the call, and is taken back. */
static void a_flag_is_heeded_at_once(enum headwise_isa isa) {
    int flag = 1;
    struct test_rng rng = test_rng_make(272);
    const struct call_shape shape = {1, 2, 2, 3, 5, 8, 8};
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    headwise_context *context = NULL;
    const struct headwise_context_options options = {
        .size = sizeof(options), .isa = isa, .n_threads = 2, .cancel_flag = &flag};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    assert_int_equal(call_try(context, &call), HEADWISE_ERR_CANCELLED);
    assert_string_equal(headwise_status_name(HEADWISE_ERR_CANCELLED), "cancelled");
    flag = 0;
    call_expect_oracle(isa, &call);
    call_run_with(context, &call);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_environment_bounds_the_default),
        TEST_CASE(settings_are_unchanged),
        TEST_CASE(a_flag_is_heeded_at_once),
        TEST_CASE(unusual_float_modes_are_kept),
        TEST_CASE(the_programs_openmp_settings_do_not_matter),
        TEST_CASE(affinity_limits_the_default),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
