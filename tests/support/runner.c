/* Runs test cases once, or once on every tier, as one cmocka group. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "rng.h"

struct run {
    const struct test_case *test;
    enum headwise_isa isa;
    char name[160];
};

/* The tier of HEADWISE_TEST_ISA, AUTO where the variable is not set. */
static enum headwise_isa restricted_isa(void) {
    const char *name = getenv("HEADWISE_TEST_ISA");
    enum headwise_isa isa = HEADWISE_ISA_AUTO;
    if (name == NULL || name[0] == '\0')
        return HEADWISE_ISA_AUTO;
    if (headwise_isa_from_name(&isa, name) != HEADWISE_OK || isa == HEADWISE_ISA_AUTO) {
        fprintf(stderr, "tests: HEADWISE_TEST_ISA=%s names no tier\n", name);
        exit(1);
    }
    return isa;
}

int test_tiers(enum headwise_isa tiers[4]) {
    enum headwise_isa only = restricted_isa();
    int n = 0;
    for (int isa = HEADWISE_ISA_SCALAR; isa <= HEADWISE_ISA_NEON; isa++)
        if (headwise_isa_usable(isa) && (only == HEADWISE_ISA_AUTO || (int)only == isa))
            tiers[n++] = isa;
    return n;
}

int64_t test_share(void) {
    const char *text = getenv("HEADWISE_TEST_SHARE");
    long share = text != NULL ? strtol(text, NULL, 10) : 1;
    return share >= 1 ? share : 1;
}

void test_skip(const char *why) {
    print_message("skipped: %s\n", why);
    skip();
}

static void run_case(void **state) {
    const struct run *run = *state;
    if (!headwise_isa_usable(run->isa)) {
        if (restricted_isa() != HEADWISE_ISA_AUTO)
            fail_msg("HEADWISE_TEST_ISA=%s: this processor or build cannot run the tier",
                     headwise_isa_name(run->isa));
        test_skip("this processor cannot run the tier");
    }
    compare_set_tier(run->isa);
    if (run->test->run != NULL)
        run->test->run(run->isa);
    else
        run->test->run_with(run->isa, run->test->argument);
    guard_check();
}

static int release_case(void **state) {
    (void)state;
    guard_release();
    return 0;
}

static int run_all(struct run *runs, size_t n) {
    struct CMUnitTest *tests = calloc(n > 0 ? n : 1, sizeof(*tests));
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < n; i++) {
        snprintf(runs[i].name, sizeof(runs[i].name), "%s[%s]", runs[i].test->name,
                 headwise_isa_name(runs[i].isa));
        tests[i] = (struct CMUnitTest){runs[i].name, run_case, NULL, release_case, &runs[i]};
    }
    print_message("seed %" PRIu64 " (HEADWISE_SEED repeats it)\n", test_seed());
    int n_failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
    compare_print_worst();
    free(tests);
    return n_failed != 0;
}

static int run_from(enum headwise_isa first, const struct test_case *cases, size_t n_cases) {
    struct run *runs = calloc(4 * n_cases, sizeof(*runs));
    enum headwise_isa only = restricted_isa();
    size_t n = 0;
    if (runs == NULL)
        return 1;
    for (int isa = (int)first; isa <= HEADWISE_ISA_NEON; isa++) {
        if (only == HEADWISE_ISA_AUTO ? !headwise_isa_built(isa) : (int)only != isa)
            continue;
        for (size_t i = 0; i < n_cases; i++)
            runs[n++] = (struct run){&cases[i], isa, ""};
    }
    int result = run_all(runs, n);
    free(runs);
    return result;
}

int test_run_tiers(const struct test_case *cases, size_t n_cases) {
    return run_from(HEADWISE_ISA_SCALAR, cases, n_cases);
}

int test_run_simd_tiers(const struct test_case *cases, size_t n_cases) {
    return run_from(HEADWISE_ISA_AVX2, cases, n_cases);
}

int test_run_once(const struct test_case *cases, size_t n_cases) {
    struct run *runs = calloc(n_cases, sizeof(*runs));
    enum headwise_isa isa = restricted_isa();
    if (runs == NULL)
        return 1;
    if (isa == HEADWISE_ISA_AUTO)
        isa = headwise_isa_best();
    for (size_t i = 0; i < n_cases; i++)
        runs[i] = (struct run){&cases[i], isa, ""};
    int result = run_all(runs, n_cases);
    free(runs);
    return result;
}
