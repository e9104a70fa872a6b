/* How keys are shared out where there are fewer tiles than threads: by the blocks that a tile
 * meets, evenly, wherever its window lies. */
#include "attention/plan.h"
#include "base/alloc.h"
#include "runner.h"
#include "tier.h"

enum { KEYS = 60000 };

/* One query at `position`, which sees `left` keys before it, itself and the first ones. left -1: it
 * sees everything up to itself. */
static struct headwise_call decode(const int64_t *position, int64_t heads, int64_t left,
                                   int64_t first) {
    return (struct headwise_call){
        .options = {.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                    .window_is_set = true,
                    .window_left = left,
                    .window_right = -1,
                    .window_first = first},
        .query_offsets = position,
        .mask_keys = KEYS,
        .batch = 1,
        .n_heads = heads,
        .n_kv_heads = heads,
        .group = 1,
        .n_queries = 1,
        .n_keys = KEYS,
        .head_dim = 64,
        .value_dim = 64,
    };
}

static bool sees(int64_t key, int64_t position, int64_t left, int64_t first) {
    return key <= position && (key < first || left < 0 || key >= position - left);
}

/* The blocks are those with a key in sight, each once, in order; none is missing in a part. */
static void expect_blocks(const struct headwise_plan *plan, int64_t position, int64_t left,
                          int64_t first) {
    struct headwise_blocks blocks = headwise_plan_blocks(plan, 0, 0);
    int64_t n = 0, last_seen = -1;
    for (int64_t key = 0; key < KEYS; key++) {
        int64_t block = key / HEADWISE_KEY_BLOCK;
        if (!sees(key, position, left, first) || block == last_seen)
            continue;
        assert_int_equal(headwise_blocks_at(blocks, n), block);
        last_seen = block;
        n++;
    }
    assert_int_equal(headwise_blocks_count(blocks), n);
    assert_true(n <= plan->n_parts);
    int64_t next = 0, least = KEYS, most = 0;
    for (int64_t split = 0; split < plan->n_splits; split++) {
        struct headwise_span part = headwise_plan_split(plan, n, split);
        assert_int_equal(part.lo, next);
        next = part.hi;
        least = headwise_min(least, part.hi - part.lo);
        most = headwise_max(most, part.hi - part.lo);
    }
    assert_int_equal(next, n);
    assert_true(most - least <= 1);
}

static void parts_are_even_wherever_the_window_lies(enum headwise_isa isa) {
    const int64_t positions[] = {0, 255, 256, 1000, 30000, KEYS - 1, KEYS + 300};
    const int64_t lefts[] = {-1, 0, 1, 255, 256, 1023, INT64_MAX},
                  firsts[] = {0, 4, 300, INT64_MAX};
    for (size_t p = 0; p < TEST_COUNT(positions); p++)
        for (size_t l = 0; l < TEST_COUNT(lefts); l++)
            for (size_t f = 0; f < TEST_COUNT(firsts); f++)
                for (int threads = 1; threads <= 16; threads = threads * 2 + 1) {
                    struct headwise_plan plan;
                    struct headwise_call call = decode(&positions[p], 1, lefts[l], firsts[f]);
                    headwise_plan_init(&plan, &call, tier_kernels(isa), threads);
                    expect_blocks(&plan, positions[p], lefts[l], firsts[f]);
                }
}

/* 1024 keys that end at the last one lie in five blocks of 235, and each of them is a task. */
static void a_far_window_keeps_every_thread_at_work(enum headwise_isa isa) {
    const int64_t position = KEYS - 1;
    struct headwise_plan plan;
    struct headwise_call call = decode(&position, 1, 1023, 0);
    headwise_plan_init(&plan, &call, tier_kernels(isa), 4);
    struct headwise_blocks blocks = headwise_plan_blocks(&plan, 0, 0);
    assert_int_equal(plan.n_blocks, 235);
    assert_int_equal(headwise_blocks_count(blocks), 5);
    assert_int_equal(headwise_blocks_at(blocks, 0), 230);
    assert_int_equal(plan.n_splits, 5);
    for (int64_t split = 0; split < 5; split++) {
        struct headwise_span part = headwise_plan_split(&plan, 5, split);
        assert_int_equal(part.lo, split);
        assert_int_equal(part.hi, split + 1);
    }
}

/* Repeating a shape allocates nothing: where the query stands changes no size. */
static void scratch_does_not_depend_on_positions(enum headwise_isa isa) {
    const int64_t positions[] = {KEYS - 1, 0, 30000};
    int64_t bytes[3];
    for (int p = 0; p < 3; p++) {
        struct headwise_plan plan;
        struct headwise_call call = decode(&positions[p], 3, 1023, 4);
        headwise_plan_init(&plan, &call, tier_kernels(isa), 4);
        assert_true(plan.n_splits > 1);
        bytes[p] = plan.scratch_bytes;
    }
    assert_int_equal(bytes[1], bytes[0]);
    assert_int_equal(bytes[2], bytes[0]);
}

/* A head of 64 with 60,000 keys is work for several threads, but not where it sees 101 of them. */
static void what_a_window_hides_is_no_work(enum headwise_isa isa) {
    const int64_t position = KEYS - 1;
    struct headwise_plan plan;
    struct headwise_call call = decode(&position, 1, -1, 0);
    headwise_plan_init(&plan, &call, tier_kernels(isa), 4);
    assert_false(headwise_plan_is_tiny(&plan));
    call = decode(&position, 1, 100, 0);
    headwise_plan_init(&plan, &call, tier_kernels(isa), 4);
    assert_true(headwise_plan_is_tiny(&plan));
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(parts_are_even_wherever_the_window_lies),
        TEST_CASE(a_far_window_keeps_every_thread_at_work),
        TEST_CASE(scratch_does_not_depend_on_positions),
        TEST_CASE(what_a_window_hides_is_no_work),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
