/* Boolean and additive masks, what they hide, and how they broadcast. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "runner.h"

static struct headwise_tensor bool_mask(const struct call_shape *s, const float *pattern) {
    return call_tensor(HEADWISE_BOOL, 1, 1, s->queries, s->keys, pattern);
}

/* Row 0 sees nothing: zeros and -inf, not NaN. Row 1 sees keys 0 and 2, which score the same. */
static void a_row_without_a_key_is_zero(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 2, 3, 2, 2};
    struct call call = call_uniform(&shape);
    call.q = call_tensor(HEADWISE_F32, 1, 1, 2, 2, (const float[]){1, 0, 1, 0});
    call.k = call_tensor(HEADWISE_F32, 1, 1, 3, 2, (const float[]){1, 0, 0, 1, 1, 1});
    call.v = call_tensor(HEADWISE_F32, 1, 1, 3, 2, (const float[]){1, 10, 2, 20, 3, 30});
    struct headwise_tensor mask = bool_mask(&shape, (const float[]){0, 0, 0, 1, 0, 1});
    call.given.mask = &mask;
    for (unsigned wants = 0; wants <= CALL_ALL; wants += CALL_ALL) {
        const double y[] = {0, 0, 2, 20}, weights[] = {0, 0, 0, .5, 0, .5};
        if (wants != 0)
            call_probe(&call, wants, HEADWISE_SCORES_WEIGHTS);
        call_run(isa, &call);
        for (int i = 0; i < 4; i++)
            compare_expect(((float *)call.y.data)[i], y[i], 1e-6 * y[i], "y[%d]", i);
        for (int i = 0; wants != 0 && i < 6; i++)
            compare_expect(call.probe.weights[i], weights[i], 1e-6 * weights[i], "P[%d]", i);
        if (wants != 0) {
            compare_expect(call.probe.lse[0], -(double)INFINITY, 0, "lse of the hidden row");
            compare_expect(call.probe.lse[1], 1.693147, 1e-6, "lse");
        }
    }
}

/* A whole tile of hidden keys before or after the visible ones, for some rows or for all. */
static void expect_half_hidden(enum headwise_isa isa, int64_t tile, bool first_hidden,
                               bool all_rows, enum headwise_dtype dtype) {
    const struct call_shape shape = {1, 1, 1, 7, 2 * tile, 1, 1};
    struct call call = call_uniform(&shape);
    struct headwise_tensor mask = call_tensor(dtype, 1, 1, 7, 2 * tile, NULL);
    double want[7], mean = (double)tile / 2 + .5;
    for (int64_t i = 0; i < 7; i++) {
        bool hides = all_rows || i % 2 == 0;
        want[i] = !hides ? (double)tile + .5 : first_hidden ? mean + (double)tile : mean;
        for (int64_t j = 0; j < 2 * tile; j++) {
            bool hidden = hides && (j < tile) == first_hidden;
            double x = dtype == HEADWISE_BOOL ? !hidden : hidden ? -(double)INFINITY : 0;
            half_store(dtype, mask.data, i * 2 * tile + j, x);
        }
    }
    call.given.mask = &mask;
    call_run(isa, &call);
    call_expect_y(&call, want, "half of the keys hidden");
    guard_release();
}

static void a_hidden_tile_of_keys(enum headwise_isa isa) {
    const int64_t tiles[] = {8, 16, 32, 64, 128, 256, 512};
    for (size_t t = 0; t < TEST_COUNT(tiles); t++)
        for (int kind = 0; kind < 8; kind++)
            expect_half_hidden(isa, tiles[t], kind & 1, kind & 2,
                               kind & 4 ? HEADWISE_BOOL : HEADWISE_F32);
}

/* What a hidden key or value holds changes no bit, with masks of either kind. */
static void hidden_nan_changes_no_bit(enum headwise_isa isa) {
    const struct call_shape shapes[] = {{1, 1, 1, 1, 4, 1, 1}, {1, 2, 1, 5, 300, 8, 9}};
    struct test_rng rng = test_rng_make(101);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (int is_bool = 0; is_bool < 2; is_bool++) {
            struct call clean = call_make(&rng, &shapes[s], HEADWISE_F32, 0);
            int64_t keys = shapes[s].keys, dim = shapes[s].dim, value_dim = shapes[s].value_dim;
            enum headwise_dtype dtype = is_bool ? HEADWISE_BOOL : HEADWISE_F32;
            struct headwise_tensor mask = call_tensor(dtype, 1, 1, 1, keys, NULL);
            for (int64_t j = 0; j < keys; j++)
                half_store(dtype, mask.data, j,
                           is_bool      ? j % 2 == 0
                           : j % 2 == 0 ? 0.25
                                        : -(double)INFINITY);
            clean.given.mask = &mask;
            call_probe(&clean, CALL_ALL, HEADWISE_SCORES_MASKED);
            struct call dirty = clean;
            call_new_outputs(&dirty);
            dirty.k = call_tensor(HEADWISE_F32, 1, shapes[s].kv_heads, keys, dim, clean.k.data);
            dirty.v =
                call_tensor(HEADWISE_F32, 1, shapes[s].kv_heads, keys, value_dim, clean.v.data);
            for (int64_t j = 1; j < keys; j += 2) {
                const float odd[] = {NAN, INFINITY, -INFINITY};
                ((float *)dirty.k.data)[j * dim] = odd[j / 2 % 3];
                ((float *)dirty.v.data)[j * value_dim] = odd[(j / 2 + 1) % 3];
            }
            call_run(isa, &clean);
            call_run(isa, &dirty);
            call_expect_same(&dirty, &clean, "NaN in hidden keys");
        }
}

/* A visible NaN comes out as NaN, in its own row only. */
static void a_visible_nan_stays_nan(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 3, 300, 4, 4};
    struct test_rng rng = test_rng_make(102);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    ((float *)call.q.data)[2] = NAN;
    call_run(isa, &call);
    for (int i = 0; i < 12; i++)
        assert_int_equal(isnan(((float *)call.y.data)[i]) != 0, i < 4);

    struct call key = call_make(&rng, &shape, HEADWISE_F32, 0);
    ((float *)key.k.data)[299 * 4] = NAN; /* every query sees it */
    call_run(isa, &key);
    for (int i = 0; i < 12; i++)
        assert_true(isnan(((float *)key.y.data)[i]));

    struct call value = call_make(&rng, &shape, HEADWISE_F32, 0);
    ((float *)value.v.data)[3 * 4 + 1] = NAN; /* one column of the values */
    call_run(isa, &value);
    for (int i = 0; i < 12; i++)
        assert_int_equal(isnan(((float *)value.y.data)[i]) != 0, i % 4 == 1);
}

/* An additive mask of -FLT_MAX is no -inf: it is added, and absorbs the scores. */
static void the_lowest_float_is_added(enum headwise_isa isa) {
    const float lowest = -3.40282347e38f;
    const struct call_shape three = {1, 1, 1, 1, 3, 1, 1};
    struct call call = call_uniform(&three);
    call.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
    call.k = call_tensor(HEADWISE_F32, 1, 1, 3, 1, (const float[]){1, 2, 3});
    struct headwise_tensor mask =
        call_tensor(HEADWISE_F32, 1, 1, 1, 3, (const float[]){lowest, lowest, lowest});
    call.given.mask = &mask;
    call_run(isa, &call);
    call_expect_y(&call, (const double[]){2}, "scores absorbed");

    /* -3e31 - FLT_MAX rounds to -inf. */
    const struct call_shape two = {1, 1, 1, 1, 2, 1, 1};
    struct call overflow = call_uniform(&two);
    overflow.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
    overflow.k = call_tensor(HEADWISE_F32, 1, 1, 2, 1, (const float[]){0, -3e31f});
    mask = call_tensor(HEADWISE_F32, 1, 1, 1, 2, (const float[]){lowest, lowest});
    overflow.given.mask = &mask;
    call_probe(&overflow, CALL_WEIGHTS, HEADWISE_SCORES_WEIGHTS);
    call_run(isa, &overflow);
    assert_true(overflow.probe.weights[0] == 1 && overflow.probe.weights[1] == 0);
}

/* Any byte but 0 is true, and true means attend; the same pattern as 0 and -inf gives equal bits.
 */
static void boolean_and_additive_masks_agree(enum headwise_isa isa) {
    const struct call_shape shape = {2, 2, 2, 5, 270, 8, 8};
    struct test_rng rng = test_rng_make(103);
    struct call as_bool = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct call as_float = as_bool, as_half = as_bool;
    struct headwise_tensor bools = call_tensor(HEADWISE_BOOL, 2, 2, 5, 270, NULL);
    struct headwise_tensor floats = call_tensor(HEADWISE_F32, 2, 2, 5, 270, NULL);
    struct headwise_tensor halves = call_tensor(HEADWISE_F16, 2, 2, 5, 270, NULL);
    for (int64_t i = 0; i < (int64_t)2 * 2 * 5 * 270; i++) {
        const uint8_t truths[] = {0, 1, 0xff, 0x80};
        uint8_t truth = truths[test_rng_below(&rng, 4)];
        ((uint8_t *)bools.data)[i] = truth;
        half_store(HEADWISE_F32, floats.data, i, truth != 0 ? 0 : -(double)INFINITY);
        half_store(HEADWISE_F16, halves.data, i, truth != 0 ? 0 : -(double)INFINITY);
    }
    as_bool.given.mask = &bools;
    as_float.given.mask = &floats;
    as_half.given.mask = &halves;
    call_new_outputs(&as_float);
    call_new_outputs(&as_half);
    call_expect_oracle(isa, &as_bool);
    call_run(isa, &as_float);
    call_run(isa, &as_half);
    call_expect_same(&as_float, &as_bool, "mask of 0 and -inf");
    call_expect_same(&as_half, &as_bool, "f16 mask of 0 and -inf");
}

/* Every way to broadcast to B = 2, H = 2, L = 3, S = 5 (7), against the mask written out. */
static void expect_broadcast(enum headwise_isa isa, struct test_rng *rng, const int64_t size[4],
                             bool whole_row, enum headwise_dtype dtype) {
    const struct call_shape shape = {2, 2, 1, 3, 7, 4, 4};
    struct call call = call_make(rng, &shape, HEADWISE_F32, 0);
    struct headwise_tensor mask = call_tensor(dtype, size[0], size[1], size[2], size[3], NULL);
    for (int64_t i = 0; i < size[0] * size[1] * size[2] * size[3]; i++)
        half_store(dtype, mask.data, i,
                   dtype == HEADWISE_BOOL ? (double)test_rng_below(rng, 3)
                                          : (double)(test_rng_float(rng) * 2));
    if (whole_row)
        mask.stride[3] = 0;
    call.given.mask = &mask;
    call_expect_oracle(isa, &call);

    struct call full = call;
    struct headwise_tensor written = call_tensor(HEADWISE_F32, 2, 2, 3, 7, NULL);
    const double *dense = oracle_dense_mask(&mask, 2, 2, 3, 7);
    for (int64_t i = 0; i < (int64_t)2 * 2 * 3 * 7; i++)
        half_store(HEADWISE_F32, written.data, i, dense[i]);
    full.given.mask = &written;
    call_new_outputs(&full);
    call_run(isa, &full);
    call_expect_same(&call, &full, "broadcast mask");
    guard_release();
}

static void masks_broadcast(enum headwise_isa isa) {
    const struct {
        int64_t size[4];
        bool whole_row;
    } masks[] = {
        {{1, 1, 1, 7}, false}, {{1, 1, 3, 1}, true},  {{1, 1, 3, 7}, false}, {{1, 2, 3, 7}, false},
        {{2, 1, 1, 7}, false}, {{1, 2, 3, 1}, true},  {{2, 2, 3, 7}, false}, {{1, 2, 1, 7}, false},
        {{2, 1, 3, 7}, false}, {{1, 1, 1, 1}, true},  {{2, 2, 3, 5}, false}, {{1, 1, 1, 4}, false},
        {{1, 1, 3, 1}, false}, {{2, 2, 3, 0}, false},
    };
    const enum headwise_dtype types[] = {HEADWISE_BOOL, HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    struct test_rng rng = test_rng_make(104);
    for (size_t m = 0; m < TEST_COUNT(masks); m++)
        for (size_t t = 0; t < TEST_COUNT(types); t++)
            expect_broadcast(isa, &rng, masks[m].size, masks[m].whole_row, types[t]);
}

/* Strides of a mask that is part of a larger array, and stride 0 with full size. */
static void masks_may_be_strided(enum headwise_isa isa) {
    const struct call_shape shape = {2, 3, 3, 4, 9, 4, 4};
    struct test_rng rng = test_rng_make(105);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_tensor mask = call_tensor(HEADWISE_F32, 1, 3, 4, 20, NULL);
    call_fill(&rng, &mask, 2);
    mask.size[0] = 2;
    mask.stride[0] = 0;
    mask.size[3] = 9;
    call.given.mask = &mask;
    call_expect_oracle(isa, &call);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(a_row_without_a_key_is_zero),
        TEST_CASE(a_hidden_tile_of_keys),
        TEST_CASE(hidden_nan_changes_no_bit),
        TEST_CASE(a_visible_nan_stays_nan),
        TEST_CASE(the_lowest_float_is_added),
        TEST_CASE(boolean_and_additive_masks_agree),
        TEST_CASE(masks_broadcast),
        TEST_CASE(masks_may_be_strided),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
