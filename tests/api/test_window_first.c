/* Windows that keep the first keys in sight. */
#define _GNU_SOURCE /* mmap's MAP_ANONYMOUS */
#include <string.h>
#include <sys/mman.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "runner.h"

/* Every score equal, values 1, 2, 3, ...: y is the mean of what is seen. */
struct first_case {
    const char *name;
    int64_t queries, keys, first, left, right;
    enum headwise_causal causal;
    double y[8];
};

static const struct first_case first_cases[] = {
    {"two and a window of two",
     6,
     6,
     2,
     1,
     0,
     HEADWISE_CAUSAL_TOP_LEFT,
     {1, 1.5, 2, 2.5, 3, 3.5}},                                     /* 1 2 | 5 6 */
    {"decode", 1, 8, 1, 0, 0, HEADWISE_CAUSAL_BOTTOM_RIGHT, {4.5}}, /* 1 | 8 */
    {"more than there are", 3, 3, 100, 0, 0, HEADWISE_CAUSAL_TOP_LEFT, {1, 1.5, 2}},
    {"right side", 5, 5, 1, 0, 1, HEADWISE_CAUSAL_NONE, {1.5, 2, 8 / 3., 10 / 3., 3}},
    {"none", 4, 4, 0, 0, 0, HEADWISE_CAUSAL_TOP_LEFT, {1, 2, 3, 4}},
    {"open left side", 2, 4, 1, -1, 0, HEADWISE_CAUSAL_BOTTOM_RIGHT, {2, 2.5}},
};

static void means_of_what_is_seen(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(first_cases); i++) {
        const struct first_case *c = &first_cases[i];
        const struct call_shape shape = {1, 1, 1, c->queries, c->keys, 1, 1};
        struct call call = call_uniform(&shape);
        call.options.causal = c->causal;
        call.options.window_is_set = true;
        call.options.window_left = c->left;
        call.options.window_right = c->right;
        call.options.window_first = c->first;
        call_run(isa, &call);
        call_expect_y(&call, c->y, c->name);
        guard_reset();
    }
}

/* Around the borders of key blocks, with everything the probe can show. */
static void borders_match_the_oracle(enum headwise_isa isa) {
    const int64_t firsts[] = {1, 4, 16, 255, 256, 257, 300, 900};
    const int64_t lefts[] = {0, 3, 255, 256, 600};
    const struct call_shape shape = {1, 2, 1, 5, 900, 4, 3};
    const int64_t offsets[] = {0, 250, 510, 770, 895};
    struct test_rng rng = test_rng_make(191);
    for (size_t f = 0; f < TEST_COUNT(firsts); f++)
        for (size_t l = 0; l < TEST_COUNT(lefts); l++) {
            struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
            call.options.window_is_set = true;
            call.options.window_first = firsts[f];
            call.options.window_left = lefts[l];
            call.options.window_right = (int64_t)l - 1;
            call.given.query_offsets = &offsets[(f + l) % TEST_COUNT(offsets)];
            call.options.causal =
                (f + l) % 2 == 0 ? HEADWISE_CAUSAL_NONE : HEADWISE_CAUSAL_TOP_LEFT;
            for (int stage = HEADWISE_SCORES_SCALED; stage <= HEADWISE_SCORES_WEIGHTS; stage += 2) {
                call_new_outputs(&call);
                call_probe(&call, CALL_ALL, stage);
                call_expect_oracle(isa, &call);
            }
            guard_reset();
        }
}

/* Tiles of many queries see a union of windows; one query sees its own: same bits. */
static void chunks_change_no_bit(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 64, 1300, 8, 4};
    const int64_t start = 1200;
    struct test_rng rng = test_rng_make(192);
    struct call all = call_make(&rng, &shape, HEADWISE_F32, 0);
    all.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    all.options.window_is_set = true;
    all.options.window_left = 270;
    all.options.window_right = -1;
    all.options.window_first = 5;
    all.given.query_offsets = &start;
    call_run(isa, &all);
    for (int64_t i = 0; i < shape.queries; i++) {
        struct call one = all, part = all;
        const int64_t offset = start + i;
        one.shape.queries = part.shape.queries = 1;
        one.q.size[2] = one.y.size[2] = part.y.size[2] = 1;
        one.q.data = (float *)one.q.data + i * one.q.stride[2];
        part.y.data = (float *)part.y.data + i * part.y.stride[2];
        one.given.query_offsets = &offset;
        call_new_outputs(&one);
        call_run(isa, &one);
        call_expect_same(&one, &part, "one query");
    }
}

/* 16 floats a key: a block of 256 keys is 16 KB, four pages. Between the first keys and the window
 * the pages cannot be read. */
enum { GAP_KEYS = 4096, GAP_DIM = 16, GAP_FIRST = 4, GAP_LEFT = 300 };

static float *pages_with_a_gap(struct test_rng *rng) {
    size_t bytes = (size_t)GAP_KEYS * GAP_DIM * sizeof(float),
           block = 256 * GAP_DIM * sizeof(float);
    float *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    test_rng_fill(rng, p, GAP_KEYS * GAP_DIM, 1);
    size_t end = (GAP_KEYS - 1 - GAP_LEFT) / 256 * block;
    assert_int_equal(mprotect((char *)p + block, end - block, PROT_NONE), 0);
    return p;
}

static void the_gap_is_not_touched(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 1, 1, GAP_KEYS, GAP_DIM, GAP_DIM};
    const int threads[] = {1, 4};
    size_t bytes = (size_t)GAP_KEYS * GAP_DIM * sizeof(float);
    struct test_rng rng = test_rng_make(193);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.k.data = pages_with_a_gap(&rng);
    call.v.data = pages_with_a_gap(&rng);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call.options.window_is_set = true;
    call.options.window_left = GAP_LEFT;
    call.options.window_first = GAP_FIRST;
    call_probe(&call, CALL_LSE | CALL_WEIGHTS, HEADWISE_SCORES_MASKED);
    struct call first = call;
    for (size_t t = 0; t < TEST_COUNT(threads); t++) {
        headwise_context *context = call_context(isa, threads[t]);
        call_new_outputs(&call);
        call_run_with(context, &call);
        headwise_context_destroy(context);
        if (t == 0)
            first = call;
        else
            call_expect_same(&call, &first, "threads");
    }
    assert_int_equal(mprotect(call.k.data, bytes, PROT_READ), 0);
    assert_int_equal(mprotect(call.v.data, bytes, PROT_READ), 0);
    oracle_expect(call_oracle(&call), &call.y, &call.probe);
    munmap(call.k.data, bytes);
    munmap(call.v.data, bytes);
}

static void a_negative_count_is_refused(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 4, 8, 5};
    struct test_rng rng = test_rng_make(194);
    headwise_context *context = call_context(isa, 1);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.options.window_first = -1;
    assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(), "attention: window_first is -1, expected 0 or more");
    guard_expect_untouched(call.y.data, 5 * sizeof(float), "y");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(means_of_what_is_seen),       TEST_CASE(borders_match_the_oracle),
        TEST_CASE(chunks_change_no_bit),        TEST_CASE(the_gap_is_not_touched),
        TEST_CASE(a_negative_count_is_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
