/* Laws that hold whatever the numbers are. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

static float *floats_of(const struct headwise_tensor *t) {
    return t->data;
}

/* Each row of weights sums to 1, hidden rows to 0. */
static void weights_of_a_row_sum_to_one(enum headwise_isa isa) {
    const int64_t lengths[] = {300, 0};
    const struct call_shape shape = {2, 3, 1, 5, 300, 8, 8};
    struct test_rng rng = test_rng_make(301);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call_fill(&rng, &call.q, 20);
    call.given.key_lengths = lengths;
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_probe(&call, CALL_WEIGHTS | CALL_MEAN, HEADWISE_SCORES_MASKED);
    call_run(isa, &call);
    for (int64_t row = 0; row < 2 * 3 * 5; row++) {
        double sum = 0;
        for (int64_t j = 0; j < 300; j++)
            sum += (double)call.probe.weights[row * 300 + j];
        /* The sum is rounded at most 16 + 4 + 2 * 3 times, each weight by the exponential of its
         * block's factor (2u and 3u of at most 87), 1/sum and the product: all far below 300 u. */
        compare_expect(sum, row < 3 * 5 ? 1 : 0, 300 * BOUND_U, "row %d", (int)row);
    }
}

/* Pairs of key and value in another order have the same mean, up to rounding. */
static void the_order_of_keys_does_not_matter(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 4, 600, 16, 16};
    struct test_rng rng = test_rng_make(302);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0), mixed = call;
    mixed.k = call_tensor(HEADWISE_F32, 1, 1, 600, 16, floats_of(&call.k));
    mixed.v = call_tensor(HEADWISE_F32, 1, 1, 600, 16, floats_of(&call.v));
    for (int64_t j = 599; j > 0; j--) {
        int64_t other = test_rng_below(&rng, j + 1);
        struct headwise_tensor *both[] = {&mixed.k, &mixed.v};
        for (int t = 0; t < 2; t++) {
            float *a = floats_of(both[t]) + j * 16, *b = floats_of(both[t]) + other * 16, x[16];
            memcpy(x, a, sizeof(x));
            memmove(a, b, sizeof(x));
            memcpy(b, x, sizeof(x));
        }
    }
    call_new_outputs(&mixed);
    call_expect_oracle(isa, &call);
    call_run(isa, &mixed);
    struct oracle_result *exact = call_oracle(&call);
    oracle_expect(exact, &mixed.y, NULL); /* the bound does not depend on the order */
}

/* NaN and infinities in keys and values of the future change no bit of the past. */
static void the_future_does_not_matter(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 2, 300, 300, 16, 16};
    struct test_rng rng = test_rng_make(303);
    struct call clean = call_make(&rng, &shape, HEADWISE_F32, 0);
    clean.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    call_run(isa, &clean);
    const int64_t firsts[] = {1, 2, 63, 255, 256, 257, 299};
    for (size_t f = 0; f < TEST_COUNT(firsts); f++) {
        struct call dirty = clean;
        dirty.k = call_tensor(HEADWISE_F32, 1, 2, 300, 16, floats_of(&clean.k));
        dirty.v = call_tensor(HEADWISE_F32, 1, 2, 300, 16, floats_of(&clean.v));
        for (int64_t h = 0; h < 2; h++)
            for (int64_t i = firsts[f] * 16; i < 300 * 16; i++) {
                const float odd[] = {NAN, INFINITY, -INFINITY};
                floats_of(&dirty.k)[h * 300 * 16 + i] = odd[i % 3];
                floats_of(&dirty.v)[h * 300 * 16 + i] = odd[(i + 1) % 3];
            }
        call_new_outputs(&dirty);
        call_run(isa, &dirty);
        for (int64_t h = 0; h < 2; h++)
            compare_same_bits(floats_of(&dirty.y) + h * 300 * 16,
                              floats_of(&clean.y) + h * 300 * 16, (size_t)(firsts[f] * 16),
                              "NaN from key %d on", (int)firsts[f]);
    }
}

/* Shared keys and values give the bits of keys and values repeated for each query head. */
static void shared_heads_equal_repeated_heads(enum headwise_isa isa) {
    const struct call_shape shared = {2, 6, 2, 20, 300, 16, 9},
                            repeated = {2, 6, 6, 20, 300, 16, 9};
    struct test_rng rng = test_rng_make(304);
    struct call gqa = call_make(&rng, &shared, HEADWISE_F32, 0);
    struct call mha = call_make(&rng, &repeated, HEADWISE_F32, 0);
    mha.q = gqa.q;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 6; h++) {
            memcpy(floats_of(&mha.k) + (b * 6 + h) * 300 * 16,
                   floats_of(&gqa.k) + (b * 2 + h / 3) * 300 * 16, 300 * 16 * sizeof(float));
            memcpy(floats_of(&mha.v) + (b * 6 + h) * 300 * 9,
                   floats_of(&gqa.v) + (b * 2 + h / 3) * 300 * 9, 300 * 9 * sizeof(float));
        }
    gqa.options.causal = mha.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_probe(&gqa, CALL_ALL, HEADWISE_SCORES_MASKED);
    call_probe(&mha, CALL_ALL, HEADWISE_SCORES_MASKED);
    call_run(isa, &gqa);
    call_run(isa, &mha);
    call_expect_same(&gqa, &mha, "shared and repeated heads");
}

/* y with a gate is y without one times the gate, one rounding: exactly. */
static void a_gate_is_a_factor(enum headwise_isa isa) {
    const float gates[] = {1, 0.3f, -2, 0, 7.7f, -0.1f};
    const struct call_shape shape = {2, 6, 2, 5, 300, 16, 16};
    struct test_rng rng = test_rng_make(305);
    struct call plain = call_make(&rng, &shape, HEADWISE_F32, 0), gated = plain;
    gated.given.head_gates = gates;
    call_new_outputs(&gated);
    call_run(isa, &plain);
    call_run(isa, &gated);
    for (int64_t i = 0; i < 2 * 6 * 5 * 16; i++) {
        float gate = gates[i / (5 * 16) % 6], want = gate == 0 ? 0 : floats_of(&plain.y)[i] * gate;
        compare_same_bits(floats_of(&gated.y) + i, &want, 1, "element %d", (int)i);
    }
}

/* A layer without a head: its contribution is gone and the others are untouched. */
static void a_closed_gate_removes_a_contribution(enum headwise_isa isa) {
    const float gates[] = {1, 0, 1, 1};
    struct test_rng rng = test_rng_make(306);
    struct headwise_mha_config config = {.d_model = 32, .n_heads = 4};
    layer_fill_weights(&rng, &config, true);
    struct layer_call all = layer_call_make(&rng, &config, 1, 9, -1, HEADWISE_F32), some = all;
    some.y = call_tensor(HEADWISE_F32, 1, 1, 9, 32, NULL);
    some.given.head_gates = gates;
    layer_call_probe(&all, HEADWISE_SCORES_MASKED);
    layer_call_probe(&some, HEADWISE_SCORES_MASKED);
    layer_expect_oracle(isa, &all);
    layer_expect_oracle(isa, &some);
    for (int64_t h = 0; h < 4; h++)
        for (int64_t i = h * 9 * 32; i < (h + 1) * 9 * 32; i++) {
            float want = h == 1 ? 0 : all.probe.contributions[i];
            assert_true(some.probe.contributions[i] == want);
        }
    compare_same_bits(some.probe.weights, all.probe.weights, 4 * 9 * 9, "weights");
}

/* Heads do not meet before W_O: in another order they give the same bits in that order. */
static void heads_are_independent(enum headwise_isa isa) {
    const int64_t order[] = {2, 0, 3, 1};
    const struct call_shape shape = {1, 4, 4, 7, 290, 12, 10};
    struct test_rng rng = test_rng_make(307);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0), mixed = call;
    mixed.q = call_tensor(HEADWISE_F32, 1, 4, 7, 12, NULL);
    mixed.k = call_tensor(HEADWISE_F32, 1, 4, 290, 12, NULL);
    mixed.v = call_tensor(HEADWISE_F32, 1, 4, 290, 10, NULL);
    for (int64_t h = 0; h < 4; h++) {
        struct headwise_tensor *to[] = {&mixed.q, &mixed.k, &mixed.v};
        const struct headwise_tensor *from[] = {&call.q, &call.k, &call.v};
        for (int t = 0; t < 3; t++)
            memcpy(floats_of(to[t]) + h * to[t]->stride[1],
                   floats_of(from[t]) + order[h] * from[t]->stride[1],
                   (size_t)from[t]->stride[1] * sizeof(float));
    }
    call_new_outputs(&mixed);
    call_run(isa, &call);
    call_run(isa, &mixed);
    for (int64_t h = 0; h < 4; h++)
        compare_same_bits(floats_of(&mixed.y) + h * 70, floats_of(&call.y) + order[h] * 70, 70,
                          "head %d", (int)order[h]);
}

/* 16-bit tensors are computed as the f32 tensors that hold the same numbers. */
static void half_types_are_only_storage(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F16, HEADWISE_BF16};
    const struct call_shape shape = {1, 4, 2, 9, 300, 17, 19};
    struct test_rng rng = test_rng_make(308);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        struct call half = call_make(&rng, &shape, types[t], 0);
        struct call wide = call_make(&rng, &shape, HEADWISE_F32, 0);
        struct headwise_tensor *to[] = {&wide.q, &wide.k, &wide.v};
        const struct headwise_tensor *from[] = {&half.q, &half.k, &half.v};
        for (int i = 0; i < 3; i++)
            for (int64_t e = 0; e < from[i]->stride[0]; e++)
                floats_of(to[i])[e] = (float)half_load(types[t], from[i]->data, e);
        half.y = call_tensor(HEADWISE_F32, 1, 4, 9, 19, NULL);
        call_probe(&half, CALL_ALL, HEADWISE_SCORES_CAPPED);
        call_probe(&wide, CALL_ALL, HEADWISE_SCORES_CAPPED);
        call_run(isa, &half);
        call_run(isa, &wide);
        call_expect_same(&half, &wide, headwise_dtype_name(types[t]));
    }
}

/* Doubling is exact, so it passes through the sums. */
static void doubled_values_give_doubled_outputs(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 5, 600, 16, 16};
    struct test_rng rng = test_rng_make(309);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0), doubled = call;
    doubled.v = call_tensor(HEADWISE_F32, 1, 1, 600, 16, floats_of(&call.v));
    for (int64_t i = 0; i < 600 * 16; i++)
        floats_of(&doubled.v)[i] *= 2;
    call_new_outputs(&doubled);
    call_run(isa, &call);
    call_run(isa, &doubled);
    for (int64_t i = 0; i < 2 * 5 * 16; i++) {
        float want = 2 * floats_of(&call.y)[i];
        compare_same_bits(floats_of(&doubled.y) + i, &want, 1, "element %d", (int)i);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(weights_of_a_row_sum_to_one),
        TEST_CASE(the_order_of_keys_does_not_matter),
        TEST_CASE(the_future_does_not_matter),
        TEST_CASE(shared_heads_equal_repeated_heads),
        TEST_CASE(a_gate_is_a_factor),
        TEST_CASE(a_closed_gate_removes_a_contribution),
        TEST_CASE(heads_are_independent),
        TEST_CASE(half_types_are_only_storage),
        TEST_CASE(doubled_values_give_doubled_outputs),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
