/* Which keys queries see, and in which blocks they lie, against a look at every pair of query and
 * key: random causal rules, windows, first keys, lengths, offsets and pasts. */
#include "attention/visibility.h"
#include "base/alloc.h"
#include "kernels/kernels.h"
#include "rng.h"
#include "runner.h"

enum { CALLS = 4000 };

/* A call, and the arrays that it points to. */
struct random_call {
    struct headwise_call call;
    int64_t offset, length;
};

static void make_call(struct random_call *random, struct test_rng *rng) {
    int64_t n_keys = 1 + test_rng_below(rng, 700), n_past = test_rng_below(rng, n_keys + 1);
    random->offset = test_rng_below(rng, 1000) - 200;
    random->length = test_rng_below(rng, n_keys + 1);
    random->call = (struct headwise_call){
        .options = {.causal = (enum headwise_causal)test_rng_below(rng, 3),
                    .window_is_set = test_rng_below(rng, 2),
                    .window_left = test_rng_below(rng, 300) - 1,
                    .window_right = test_rng_below(rng, 40) - 1,
                    .window_first = test_rng_below(rng, 2) ? test_rng_below(rng, 300) : 0},
        .query_offsets = test_rng_below(rng, 2) ? &random->offset : NULL,
        .key_lengths = test_rng_below(rng, 2) ? &random->length : NULL,
        .mask_keys = test_rng_below(rng, 4) ? n_keys : test_rng_below(rng, n_keys + 1),
        .batch = 1,
        .n_queries = 1 + test_rng_below(rng, 40),
        .n_past = n_past,
        .n_keys = n_keys,
    };
}

/* Position of query i, as the public header has it. */
static int64_t position_of(const struct random_call *random, int64_t i) {
    const struct headwise_call *call = &random->call;
    int64_t length = call->key_lengths ? random->length : call->n_keys;
    if (call->query_offsets)
        return random->offset + i;
    if (call->options.causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        return length - call->n_queries + i;
    return call->n_past + i;
}

static bool sees(const struct random_call *random, int64_t i, int64_t j) {
    const struct headwise_attention_options *options = &random->call.options;
    int64_t p = position_of(random, i);
    bool there = j < random->call.mask_keys && j < random->call.n_keys &&
                 !(random->call.key_lengths && j >= random->length);
    bool left = !options->window_is_set || options->window_left < 0 ||
                j >= p - options->window_left || j < options->window_first;
    bool right =
        !options->window_is_set || options->window_right < 0 || j <= p + options->window_right;
    return there && left && right && (options->causal == HEADWISE_CAUSAL_NONE || j <= p);
}

/* Whether any, or each, of queries i0 ... i1-1 sees key j. */
static bool any_sees(const struct random_call *random, int64_t i0, int64_t i1, int64_t j) {
    bool any = false;
    for (int64_t i = i0; i < i1; i++)
        any |= sees(random, i, j);
    return any;
}

static bool each_sees(const struct random_call *random, int64_t i0, int64_t i1, int64_t j) {
    bool each = true;
    for (int64_t i = i0; i < i1; i++)
        each &= sees(random, i, j);
    return each;
}

static void expect_keys(const struct random_call *random) {
    for (int64_t i = 0; i < random->call.n_queries; i++) {
        struct headwise_visible visible = headwise_visible_keys(&random->call, 0, i);
        assert_true(visible.first <= visible.lo && visible.lo <= visible.hi);
        for (int64_t j = 0; j < random->call.n_keys; j++)
            assert_int_equal(j < visible.first || (j >= visible.lo && j < visible.hi),
                             sees(random, i, j));
        assert_int_equal(headwise_distance(&random->call, 0, i, 17), 17 - position_of(random, i));
    }
}

/* Whether each query sees a key in its window: then spans and blocks hold no key too many. */
static bool windows_hold_keys(const struct random_call *random, int64_t i0, int64_t i1) {
    bool hold = true;
    for (int64_t i = i0; i < i1; i++) {
        struct headwise_visible visible = headwise_visible_keys(&random->call, 0, i);
        hold &= visible.lo < visible.hi;
    }
    return hold;
}

static void expect_block(const struct random_call *random, int64_t i0, int64_t i1, int64_t first,
                         int64_t n) {
    struct headwise_span span = headwise_block_span(&random->call, 0, i0, i1, first, n);
    int64_t lo = n, hi = 0;
    bool all = true;
    for (int64_t x = 0; x < n; x++) {
        all &= each_sees(random, i0, i1, first + x);
        if (!any_sees(random, i0, i1, first + x))
            continue;
        lo = lo < x ? lo : x;
        hi = x + 1;
    }
    if (lo < hi)
        assert_true(span.lo <= lo && span.hi >= hi);
    if (windows_hold_keys(random, i0, i1)) {
        assert_int_equal(span.lo < span.hi, lo < hi);
        if (lo < hi) {
            assert_int_equal(span.lo, lo);
            assert_int_equal(span.hi, hi);
        }
    }
    assert_int_equal(headwise_all_visible(&random->call, 0, i0, i1, first, n), all);
}

static void expect_blocks(const struct random_call *random, int64_t i0, int64_t i1) {
    const struct headwise_call *call = &random->call;
    struct headwise_blocks blocks = headwise_visible_blocks(call, 0, i0, i1);
    int64_t count = headwise_blocks_count(blocks), next = 0;
    bool exact = windows_hold_keys(random, i0, i1);
    for (int64_t first = 0; first < call->n_keys; first += HEADWISE_KEY_BLOCK) {
        int64_t left = call->n_keys - first,
                n = left < HEADWISE_KEY_BLOCK ? left : HEADWISE_KEY_BLOCK;
        bool seen = false;
        for (int64_t x = 0; x < n; x++)
            seen |= any_sees(random, i0, i1, first + x);
        bool listed =
            next < count && headwise_blocks_at(blocks, next) == first / HEADWISE_KEY_BLOCK;
        next += listed;
        assert_true(listed || !seen);
        assert_true(seen || !listed || !exact);
        expect_block(random, i0, i1, first, n);
    }
    assert_int_equal(next, count); /* each once, in order */
}

/* Wherever n queries stand, they see no more keys than their reach says. */
static void expect_reach(const struct random_call *random, int64_t i0, int64_t i1) {
    struct headwise_reach reach = headwise_reach_of(&random->call, i1 - i0);
    int64_t seen = 0;
    for (int64_t j = 0; j < random->call.n_keys; j++)
        seen += any_sees(random, i0, i1, j);
    assert_true(seen <= reach.first + reach.window);
}

static void keys_and_blocks_are_those_seen(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(77);
    (void)isa;
    for (int64_t n = 0; n < CALLS; n += test_share()) {
        struct random_call random;
        make_call(&random, &rng);
        int64_t i0 = test_rng_below(&rng, random.call.n_queries);
        int64_t i1 = i0 + 1 + test_rng_below(&rng, random.call.n_queries - i0);
        expect_keys(&random);
        expect_blocks(&random, i0, i1);
        expect_reach(&random, i0, i1);
    }
}

/* Offsets at the ends of int64_t, where positions and sides of windows do not fit it: what queries
 * see there stands in the header's words. */
static void positions_beyond_the_ends_are_told_from_keys(enum headwise_isa isa) {
    static const struct {
        int64_t offset, left, right, lo, hi, ahead; /* of query 3, of 10 keys, and of key 4 */
    } rows[] = {
        {INT64_MAX, -1, -1, 0, 10, INT64_MAX - 1},
        {INT64_MAX, INT64_MAX, 0, 3, 10, INT64_MAX - 1},
        {INT64_MAX, INT64_MAX - 1, INT64_MAX, 4, 10, INT64_MAX - 1},
        {INT64_MAX - 2, INT64_MAX, 0, 1, 10, INT64_MAX - 3},
        {INT64_MIN, INT64_MAX, INT64_MAX, 0, 3, INT64_MIN},
        {INT64_MIN, 0, -1, 0, 10, INT64_MIN},
        {INT64_MIN + 2, -1, INT64_MAX, 0, 5, INT64_MIN + 1},
        {-3, INT64_MAX, INT64_MAX, 0, 10, -4},
    };
    (void)isa;
    for (size_t r = 0; r < TEST_COUNT(rows); r++) {
        struct headwise_call call = {.options = {.window_is_set = true,
                                                 .window_left = rows[r].left,
                                                 .window_right = rows[r].right},
                                     .query_offsets = &rows[r].offset,
                                     .mask_keys = 10,
                                     .batch = 1,
                                     .n_queries = 4,
                                     .n_keys = 10};
        struct headwise_visible visible = headwise_visible_keys(&call, 0, 3);
        assert_int_equal(visible.lo, rows[r].lo);
        assert_int_equal(visible.hi, rows[r].hi);
        assert_true(headwise_query_ahead(&call, 0, 3, 4) == rows[r].ahead);
    }
    assert_true(headwise_held_sum(INT64_MAX, 1) == INT64_MAX);
    assert_true(headwise_held_sum(INT64_MIN, -1) == INT64_MIN);
    assert_true(headwise_held_sum(INT64_MIN, INT64_MAX) == -1);
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(keys_and_blocks_are_those_seen),
        TEST_CASE(positions_beyond_the_ends_are_told_from_keys)};
    return test_run_once(cases, TEST_COUNT(cases));
}
