/* Causal masks, offsets, key lengths and windows: by numbers, with every score equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "runner.h"

#define NONE HEADWISE_CAUSAL_NONE
#define TOP HEADWISE_CAUSAL_TOP_LEFT
#define BOTTOM HEADWISE_CAUSAL_BOTTOM_RIGHT

/* y is the mean of the visible 1, 2, 3, ... */
struct row_case {
    const char *name;
    int64_t batch, queries, keys;
    enum headwise_causal causal;
    int64_t lengths[4];
    bool has_lengths, has_window;
    int64_t left, right;
    double y[20];
};

static const struct row_case row_cases[] = {
    {"lengths", 4, 1, 5, NONE, {5, 3, 1, 0}, true, false, 0, 0, {3, 2, 1, 0}},
    {"top-left 2 of 5", 1, 2, 5, TOP, {0}, false, false, 0, 0, {1, 1.5}},
    {"bottom-right 2 of 5", 1, 2, 5, BOTTOM, {0}, false, false, 0, 0, {2.5, 3}},
    {"top-left 4 of 8", 1, 4, 8, TOP, {0}, false, false, 0, 0, {1, 1.5, 2, 2.5}},
    {"bottom-right 4 of 8", 1, 4, 8, BOTTOM, {0}, false, false, 0, 0, {3, 3.5, 4, 4.5}},
    {"top-left 5 of 2", 1, 5, 2, TOP, {0}, false, false, 0, 0, {1, 1.5, 1.5, 1.5, 1.5}},
    {"bottom-right 5 of 2", 1, 5, 2, BOTTOM, {0}, false, false, 0, 0, {0, 0, 0, 1, 1.5}},
    {"bottom-right, one query", 1, 1, 8, BOTTOM, {0}, false, false, 0, 0, {4.5}},
    {"top-left, one query", 1, 1, 8, TOP, {0}, false, false, 0, 0, {1}},
    {"lengths, offset -1 and 4",
     2,
     4,
     8,
     BOTTOM,
     {3, 8},
     true,
     false,
     0,
     0,
     {0, 1, 1.5, 2, 3, 3.5, 4, 4.5}},
    {"window of 3 with itself", 1, 6, 6, TOP, {0}, false, true, 2, 0, {1, 1.5, 2, 3, 4, 5}},
    {"window of 4 with itself", 1, 6, 6, TOP, {0}, false, true, 3, -1, {1, 1.5, 2, 2.5, 3.5, 4.5}},
    {"window, decode step", 1, 1, 6, BOTTOM, {0}, false, true, 2, 0, {5}},
    {"window both sides", 1, 5, 5, NONE, {0}, false, true, 1, 1, {1.5, 2, 3, 4, 4.5}},
    {"window to the right", 1, 5, 5, NONE, {0}, false, true, 0, 2, {2, 3, 4, 4.5, 5}},
    {"window of itself", 1, 5, 5, NONE, {0}, false, true, 0, 0, {1, 2, 3, 4, 5}},
    {"open window", 1, 2, 5, NONE, {0}, false, true, -1, -1, {3, 3}},
    {"window beside the keys", 1, 5, 2, NONE, {0}, false, true, 1, 1, {1.5, 1.5, 2, 0, 0}},
    {"window and length", 2, 3, 6, NONE, {2, 6}, true, true, 1, 2, {1.5, 1.5, 2, 2, 2.5, 3.5}},
    {"no query", 1, 0, 5, BOTTOM, {0}, false, false, 0, 0, {0}},
};

static void set_options(struct call *call, const struct row_case *c) {
    call->options.causal = c->causal;
    if (c->has_lengths)
        call->given.key_lengths = c->lengths;
    call->options.window_is_set = c->has_window;
    call->options.window_left = c->left;
    call->options.window_right = c->right;
}

static void means_of_visible_values(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(row_cases); i++) {
        const struct row_case *c = &row_cases[i];
        const struct call_shape shape = {c->batch, 1, 1, c->queries, c->keys, 1, 1};
        struct call call = call_uniform(&shape);
        set_options(&call, c);
        call_probe(&call, CALL_LSE | CALL_WEIGHTS, HEADWISE_SCORES_MASKED);
        call_run(isa, &call);
        call_expect_y(&call, c->y, c->name);
        for (int64_t r = 0; r < c->batch * c->queries; r++)
            if (c->y[r] == 0)
                compare_expect((double)call.probe.lse[r], -(double)INFINITY, 0, "%s: lse", c->name);
        guard_reset();
    }
}

static void log_sum_exp_counts_the_keys(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 8, 1, 1};
    struct call call = call_uniform(&shape);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_probe(&call, CALL_LSE, HEADWISE_SCORES_MASKED);
    call_run(isa, &call);
    compare_expect((double)call.probe.lse[0], 2.079442, 1e-6 * 2.08, "ln 8");
}

/* Thirteen heads of 37 dimensions, causal and a key mask at once. */
static void causal_and_key_mask_compose(enum headwise_isa isa) {
    const struct call_shape shape = {1, 13, 13, 7, 7, 37, 1};
    const double row[] = {0, 2, 2.5, 2.5, 2.5, 3.666667, 3.666667};
    double want[13 * 7];
    struct call call = call_uniform(&shape);
    struct headwise_tensor mask =
        call_tensor(HEADWISE_BOOL, 1, 1, 1, 7, (const float[]){0, 1, 1, 0, 0, 1, 0});
    call.given.mask = &mask;
    call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    for (int i = 0; i < 13 * 7; i++)
        want[i] = row[i % 7];
    call_run(isa, &call);
    call_expect_y(&call, want, "causal and key mask");
}

/* A batch entry gives the bits of the call with that entry alone, whatever the others' lengths. */
static void an_entry_does_not_see_its_batch(enum headwise_isa isa) {
    const struct call_shape shape = {4, 2, 2, 3, 300, 16, 16}, one = {1, 2, 2, 3, 300, 16, 16};
    const int64_t lengths[] = {300, 257, 1, 0};
    struct test_rng rng = test_rng_make(111);
    struct call all = call_make(&rng, &shape, HEADWISE_F32, 0);
    all.given.key_lengths = lengths;
    all.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_run(isa, &all);
    for (int64_t b = 0; b < 4; b++) {
        struct call alone = all, part = all;
        struct headwise_tensor *parts[] = {&alone.q, &alone.k, &alone.v, &alone.y};
        for (int t = 0; t < 4; t++) {
            parts[t]->data = (float *)parts[t]->data + b * parts[t]->stride[0];
            parts[t]->size[0] = 1;
        }
        part.shape = alone.shape = one;
        part.y = alone.y;
        alone.given.key_lengths = lengths + b;
        call_new_outputs(&alone);
        call_run(isa, &alone);
        call_expect_same(&alone, &part, "batch entry alone");
        for (int64_t i = 0; b == 3 && i < 2 * 3 * 16; i++)
            assert_true(((float *)alone.y.data)[i] == 0);
    }
}

/* A buffer of 256 keys of which only some are in use: the rest may hold anything. */
static void unused_cache_cells_do_not_matter(enum headwise_isa isa) {
    const int64_t lengths[] = {3, 250, 256};
    struct test_rng rng = test_rng_make(112);
    for (size_t l = 0; l < TEST_COUNT(lengths); l++) {
        const struct call_shape wide = {1, 2, 1, 1, 256, 8, 8},
                                tight = {1, 2, 1, 1, lengths[l], 8, 8};
        struct call exact = call_make(&rng, &tight, HEADWISE_F32, 0);
        call_run(isa, &exact);
        for (int garbage = 0; garbage < 2; garbage++) {
            struct call call = call_make(&rng, &wide, HEADWISE_F32, 0);
            size_t used = (size_t)(lengths[l] * 8) * sizeof(float), all = 256 * 8 * sizeof(float);
            memset(call.k.data, garbage == 0 ? 0xff : 0x7f, all);
            memset(call.v.data, garbage == 0 ? 0xff : 0x7f, all);
            memcpy(call.k.data, exact.k.data, used);
            memcpy(call.v.data, exact.v.data, used);
            call.q = exact.q;
            call.given.key_lengths = &lengths[l];
            call_run(isa, &call);
            call_expect_same(&call, &exact, "unused cells");
        }
    }
}

static void hidden_values_are_not_multiplied_by_zero(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 4, 1, 1};
    const int64_t length = 2;
    struct call call = call_uniform(&shape);
    ((float *)call.v.data)[2] = NAN;
    ((float *)call.v.data)[3] = INFINITY;
    call.given.key_lengths = &length;
    call_run(isa, &call);
    call_expect_y(&call, (const double[]){1.5}, "NaN and inf beyond the length");
}

/* Offsets of any size, also the ends of int64, neither wrap nor fault. */
static void offsets_of_any_size(enum headwise_isa isa) {
    const int64_t offsets[] = {INT64_MIN, INT64_MIN + 3, -7,       -2, 0, 4,
                               600,       INT64_MAX - 1, INT64_MAX};
    const int64_t sides[][2] = {{-1, -1}, {2, 3}, {0, 0}, {INT64_MAX, 0}, {0, INT64_MAX}};
    const struct call_shape shape = {1, 1, 1, 4, 300, 3, 2};
    struct test_rng rng = test_rng_make(113);
    for (size_t o = 0; o < TEST_COUNT(offsets); o++)
        for (size_t w = 0; w < TEST_COUNT(sides); w++)
            for (int causal = NONE; causal <= BOTTOM; causal++) {
                struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
                call.given.query_offsets = &offsets[o];
                call.options.causal = causal;
                call.options.window_is_set = true;
                call.options.window_left = sides[w][0];
                call.options.window_right = sides[w][1];
                call_probe(&call, CALL_WEIGHTS | CALL_LSE, HEADWISE_SCORES_MASKED);
                call_expect_oracle(isa, &call);
                guard_reset();
            }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(means_of_visible_values),
        TEST_CASE(log_sum_exp_counts_the_keys),
        TEST_CASE(causal_and_key_mask_compose),
        TEST_CASE(an_entry_does_not_see_its_batch),
        TEST_CASE(unused_cache_cells_do_not_matter),
        TEST_CASE(hidden_values_are_not_multiplied_by_zero),
        TEST_CASE(offsets_of_any_size),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
