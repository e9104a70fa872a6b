/* Runs test cases once, or once on every tier, as one cmocka group. */
#ifndef TESTS_RUNNER_H
#define TESTS_RUNNER_H

#include <stddef.h>

#include "cmocka_headers.h"

#include "headwise/isa.h"

/* One of run and run_with is set; run_with also gets argument. */
struct test_case {
    const char *name;
    void (*run)(enum headwise_isa isa);
    void (*run_with)(enum headwise_isa isa, const void *argument);
    const void *argument;
};

#define TEST_CASE(function)                                                                        \
    { .name = #function, .run = function }
#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every case on every tier that is in the build, as "name[tier]". A tier that this processor cannot
 * run is skipped and reported as skipped.
 * HEADWISE_TEST_ISA restricts the run to one tier; where that is not usable every case fails, so
 * that a run meant for a tier cannot pass without it. Returns what main() returns. */
int test_run_tiers(const struct test_case *cases, size_t n_cases);

/* Every case on every tier but the scalar one, for what the others promise each other. */
int test_run_simd_tiers(const struct test_case *cases, size_t n_cases);

/* Every case once, with HEADWISE_TEST_ISA's tier or the best one. */
int test_run_once(const struct test_case *cases, size_t n_cases);

/* Says why, then skips the case. */
void test_skip(const char *why);

/* Under emulation a processor is 20 times slower: HEADWISE_TEST_SHARE=n keeps every n-th
 * combination of the largest grids, 1 (all) by default. Use a number without the factors 2 and 3,
 * in whose turn types and options go round. */
int64_t test_share(void);

/* The tiers a test may run on: the usable ones, or HEADWISE_TEST_ISA's alone. Returns their
 * number, at most 4. */
int test_tiers(enum headwise_isa tiers[4]);

#endif
