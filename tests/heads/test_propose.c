/* Orders of pruning from matrices whose answer is known. */
#include <math.h>
#include <string.h>

#include "headwise/headwise.h"

#include "compare.h"
#include "runner.h"

static void expect_order(const int64_t *got, const int64_t *want, size_t n) {
    assert_memory_equal(got, want, n * sizeof(int64_t));
}

/* Contributions at right angles: the smallest first, squares add up. */
static void small_heads_go_first(enum headwise_isa isa) {
    const double gram[] = {9, 0, 0, 0, 1, 0, 0, 0, 4};
    int64_t order[3];
    double change[3];
    (void)isa;
    assert_int_equal(headwise_propose_pruning(order, change, NULL, gram, NULL, 3, NULL),
                     HEADWISE_OK);
    expect_order(order, (const int64_t[]){1, 2, 0}, 3);
    compare_expect(change[0], sqrt(1.0 / 14), 1e-15, "first");
    compare_expect(change[1], sqrt(5.0 / 14), 1e-15, "second");
    assert_true(change[2] == 1);
}

/* 10u, -10u and 3v: when one of a pair that cancels is gone, the other one's loss mends it. */
static void opposites_go_together(enum headwise_isa isa) {
    const double gram[] = {100, -100, 0, -100, 100, 0, 0, 0, 9};
    int64_t order[3];
    double change[3];
    (void)isa;
    assert_int_equal(headwise_propose_pruning(order, change, NULL, gram, NULL, 3, NULL),
                     HEADWISE_OK);
    expect_order(order, (const int64_t[]){2, 0, 1}, 3);
    compare_expect(change[0], 1, 1e-15, "v");
    compare_expect(change[1], sqrt(109.0) / 3, 1e-15, "v and u");
    compare_expect(change[2], 1, 1e-15, "all");
}

/* Of equal heads the lowest goes first; without contributions nothing changes. */
static void equals_go_by_number(enum headwise_isa isa) {
    const double equal[] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, nothing[9] = {0};
    int64_t order[3], twin[3];
    double change[3];
    (void)isa;
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, equal, NULL, 3, NULL),
                     HEADWISE_OK);
    expect_order(order, (const int64_t[]){0, 1, 2}, 3);
    assert_int_equal(headwise_propose_pruning(order, change, twin, nothing, NULL, 3, NULL),
                     HEADWISE_OK);
    assert_true(change[0] == 0 && change[2] == 0 && twin[1] == -1);
    assert_int_equal(headwise_propose_pruning(NULL, NULL, NULL, NULL, NULL, 0, NULL), HEADWISE_OK);
}

/* The twin is the likest of those that stay longer, by what the limits name. */
static void twins_stay_longer(enum headwise_isa isa) {
    /* norms 1, 2, 3; cosines 0-1: .9, 0-2: .95, 1-2: .5 */
    const double gram[] = {1, 1.8, 2.85, 1.8, 4, 3, 2.85, 3, 9};
    const double correlation[] = {1, .99, .2, .99, 1, .97, .2, .97, 1};
    struct headwise_twin_limits limits = {.size = sizeof limits, .cosine = 0.8};
    int64_t order[3], twin[3];
    (void)isa;
    assert_int_equal(headwise_propose_pruning(order, NULL, twin, gram, correlation, 3, &limits),
                     HEADWISE_OK);
    expect_order(order, (const int64_t[]){0, 1, 2}, 3);
    expect_order(twin, (const int64_t[]){2, -1, -1}, 3);
    limits.correlation = 0.95; /* both limits: 0-1 alone */
    assert_int_equal(headwise_propose_pruning(order, NULL, twin, gram, correlation, 3, &limits),
                     HEADWISE_OK);
    expect_order(twin, (const int64_t[]){1, -1, -1}, 3);
    limits.cosine = 0; /* maps alone */
    assert_int_equal(headwise_propose_pruning(order, NULL, twin, gram, correlation, 3, &limits),
                     HEADWISE_OK);
    expect_order(twin, (const int64_t[]){1, 2, -1}, 3);
}

/* A limit that is 0 says nothing: contributions may oppose each other where maps alone count, and
 * maps where contributions do. */
static void limits_that_are_not_set_say_nothing(enum headwise_isa isa) {
    const double gram[] = {1, -1, -1, 4}, along[] = {1, 1.9, 1.9, 4};
    const double same[] = {1, 1, 1, 1}, opposed[] = {1, -1, -1, 1};
    struct headwise_twin_limits limits = {.size = sizeof limits, .correlation = 0.9};
    int64_t order[2], twin[2];
    (void)isa;
    assert_int_equal(headwise_propose_pruning(order, NULL, twin, gram, same, 2, &limits),
                     HEADWISE_OK);
    expect_order(twin, (const int64_t[]){1, -1}, 2);
    limits = (struct headwise_twin_limits){.size = sizeof limits, .cosine = 0.9};
    assert_int_equal(headwise_propose_pruning(order, NULL, twin, along, opposed, 2, &limits),
                     HEADWISE_OK);
    expect_order(twin, (const int64_t[]){1, -1}, 2);
}

static void wrong_arguments_are_refused(enum headwise_isa isa) {
    const double gram[] = {1, 0, 0, 1}, wrong[] = {1, NAN, NAN, 1};
    struct headwise_twin_limits limits = {.size = sizeof limits, .correlation = 0.5};
    int64_t order[2] = {7, 7};
    (void)isa;
    assert_int_equal(headwise_propose_pruning(NULL, NULL, NULL, gram, NULL, 2, NULL),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, NULL, NULL, 2, NULL),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, gram, NULL, -1, NULL),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, wrong, NULL, 2, NULL),
                     HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "gram[0][1]"));
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, gram, NULL, 2, &limits),
                     HEADWISE_ERR_INVALID);
    limits.correlation = 0;
    limits.cosine = 1.5;
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, gram, NULL, 2, &limits),
                     HEADWISE_ERR_INVALID);
    limits.size = 0;
    assert_int_equal(headwise_propose_pruning(order, NULL, NULL, gram, NULL, 2, &limits),
                     HEADWISE_ERR_INVALID);
    assert_true(order[0] == 7 && order[1] == 7);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(small_heads_go_first),
        TEST_CASE(opposites_go_together),
        TEST_CASE(equals_go_by_number),
        TEST_CASE(twins_stay_longer),
        TEST_CASE(limits_that_are_not_set_say_nothing),
        TEST_CASE(wrong_arguments_are_refused),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
