/* Softcap, precision, equal weights, and values at the edge of a type. */
#include <math.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "runner.h"

static const struct call_shape one_query_three_keys = {1, 1, 1, 1, 3, 1, 1};

/* The cap comes before the mask: cap(1) = 2 tanh(1/2). The other order gives 27.611451. */
static void softcap_comes_before_the_mask(enum headwise_isa isa) {
    struct call call = call_uniform(&one_query_three_keys);
    call.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
    call.v = call_tensor(HEADWISE_F32, 1, 1, 3, 1, (const float[]){1, 2, 1000});
    struct headwise_tensor mask =
        call_tensor(HEADWISE_F32, 1, 1, 1, 3, (const float[]){0, 0, -INFINITY});
    call.given.mask = &mask;
    call.options.softcap = 2;
    call_probe(&call, CALL_LSE, HEADWISE_SCORES_MASKED);
    call_run(isa, &call);
    call_expect_y(&call, (const double[]){1.5}, "softcap");
    compare_expect((double)call.probe.lse[0], 1.617381, 1e-6 * 1.6, "lse");
}

static void softcaps_of_any_size(enum headwise_isa isa) {
    const float caps[] = {1e-3f, 0.5f, 30, 50, 1e4f, 1e30f};
    const struct call_shape shape = {1, 2, 1, 3, 270, 16, 8};
    struct test_rng rng = test_rng_make(121);
    for (size_t c = 0; c < TEST_COUNT(caps); c++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call_fill(&rng, &call.q, 40);
        call.options.softcap = caps[c];
        for (int stage = HEADWISE_SCORES_SCALED; stage <= HEADWISE_SCORES_WEIGHTS; stage++) {
            call_new_outputs(&call);
            call_probe(&call, CALL_ALL, stage);
            call_expect_oracle(isa, &call);
        }
        guard_reset();
    }
}

/* Equal scores: every weight has the same bits, whatever lane it was computed in. */
static void equal_scores_give_equal_weights(enum headwise_isa isa) {
    for (int64_t keys = 1; keys <= 40; keys++) {
        const struct call_shape shape = {1, 1, 1, 3, keys, 4, 1};
        struct call call = call_uniform(&shape);
        for (int i = 0; i < 12; i++)
            ((float *)call.q.data)[i] = 0.7f;
        call_probe(&call, CALL_WEIGHTS, HEADWISE_SCORES_MASKED);
        call_run(isa, &call);
        for (int64_t j = 1; j < 3 * keys; j++)
            compare_same_bits(call.probe.weights + j, call.probe.weights, 1, "%d keys, weight %d",
                              (int)keys, (int)j);
        guard_reset();
    }
}

static void weights_of_many_keys_sum_to_one(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 4096, 8, 1};
    struct call call = call_uniform(&shape);
    double sum = 0;
    call_probe(&call, CALL_WEIGHTS, HEADWISE_SCORES_MASKED);
    call_run(isa, &call);
    for (int j = 0; j < 4096; j++) {
        sum += (double)call.probe.weights[j];
        compare_same_bits(call.probe.weights + j, call.probe.weights, 1, "weight %d", j);
    }
    compare_expect(sum, 1, 1e-6, "sum of 4096 weights");
}

/* 64 * 300 * 300 is beyond f16's 65504: the sum must be f32. */
static void f16_products_are_summed_in_f32(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F16, HEADWISE_BF16};
    const struct call_shape shape = {1, 1, 1, 1, 2, 64, 1};
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        struct test_rng rng = test_rng_make(122);
        struct call call = call_make(&rng, &shape, types[t], 0);
        for (int64_t d = 0; d < 64; d++) {
            half_store(types[t], call.q.data, d, d % 2 == 0 ? 300 : -300);
            half_store(types[t], call.k.data, d, d % 2 == 0 ? 300 : -300);
            half_store(types[t], call.k.data, 64 + d, 0);
        }
        half_store(types[t], call.v.data, 0, 7);
        half_store(types[t], call.v.data, 1, 9);
        call.options.scale_is_set = true;
        call.options.scale = 1;
        call_probe(&call, CALL_WEIGHTS | CALL_SCORES, HEADWISE_SCORES_SCALED);
        call_run(isa, &call);
        float exact = 300; /* as the type has it */
        exact = (float)half_to_double(types[t], half_from_double(types[t], (double)exact));
        assert_true(call.probe.scores[0] == 64 * exact * exact);
        assert_true(call.probe.weights[0] == 1 && call.probe.weights[1] == 0);
        assert_true(half_load(types[t], call.y.data, 0) == 7);
    }
}

/* Scores far apart, and a common offset of any size: the maximum is taken off first. */
static void large_scores_do_not_overflow(enum headwise_isa isa) {
    const float offsets[] = {0, 1000, -1000, 1e6f, -1e30f};
    for (size_t o = 0; o < TEST_COUNT(offsets); o++) {
        struct call call = call_uniform(&one_query_three_keys);
        call.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
        for (int j = 0; j < 3; j++)
            ((float *)call.k.data)[j] = offsets[o];
        call_run(isa, &call);
        call_expect_y(&call, (const double[]){2}, "equal large scores");
    }
    struct call apart = call_uniform(&one_query_three_keys);
    apart.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
    apart.k = call_tensor(HEADWISE_F32, 1, 1, 3, 1, (const float[]){-1e38f, 0, 1e38f});
    call_run(isa, &apart);
    call_expect_y(&apart, (const double[]){3}, "one-hot");
}

static void scales_are_used_as_given(enum headwise_isa isa) {
    const float scales[] = {0, -1, 0.01f, 3};
    const struct call_shape shape = {1, 1, 1, 3, 33, 5, 4};
    struct test_rng rng = test_rng_make(123);
    for (size_t s = 0; s < TEST_COUNT(scales); s++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call.options.scale_is_set = true;
        call.options.scale = scales[s];
        call_expect_oracle(isa, &call);
    }
}

/* Every type of q, k, v and y on its own, and the precision of the softmax. */
static void types_mix_freely(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    const struct call_shape shape = {1, 2, 1, 3, 37, 17, 9};
    struct test_rng rng = test_rng_make(124);
    for (int i = 0; i < 3 * 3 * 3 * 3; i++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call.q = call_tensor(types[i % 3], 1, 2, 3, 17, NULL);
        call.k = call_tensor(types[i / 3 % 3], 1, 1, 37, 17, NULL);
        call.v = call_tensor(types[i / 9 % 3], 1, 1, 37, 9, NULL);
        call.y = call_tensor(types[i / 27 % 3], 1, 2, 3, 9, NULL);
        call_fill(&rng, &call.q, 2);
        call_fill(&rng, &call.k, 1);
        call_fill(&rng, &call.v, 1);
        call_expect_oracle(isa, &call);
        guard_reset();
    }
}

static void scores_round_to_the_softmax_precision(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    const struct call_shape shape = {1, 2, 1, 5, 290, 16, 8};
    struct test_rng rng = test_rng_make(125);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call_fill(&rng, &call.q, 4);
        call.options.softmax_precision = types[t];
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        call_probe(&call, CALL_WEIGHTS | CALL_LSE, HEADWISE_SCORES_MASKED);
        call_expect_oracle(isa, &call);
        guard_reset();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(softcap_comes_before_the_mask),
        TEST_CASE(softcaps_of_any_size),
        TEST_CASE(equal_scores_give_equal_weights),
        TEST_CASE(weights_of_many_keys_sum_to_one),
        TEST_CASE(f16_products_are_summed_in_f32),
        TEST_CASE(large_scores_do_not_overflow),
        TEST_CASE(scales_are_used_as_given),
        TEST_CASE(types_mix_freely),
        TEST_CASE(scores_round_to_the_softmax_precision),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
