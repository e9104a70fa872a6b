/* Attention sinks: a logit that joins the softmax and has no value. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

/* Two keys with these scores and values 1 and 2. */
struct sink_case {
    const char *name;
    double scores[2];
    double sink;
    double weights[2];
    double y, lse;
};

static const struct sink_case sink_cases[] = {
    {"ln 5 beside ln 2 and ln 3",
     {0.6931471805599453, 1.0986122886681098},
     1.6094379124341003,
     {.2, .3},
     .8,
     2.302585092994046},
    {"0 beside two zeros", {0, 0}, 0, {1 / 3., 1 / 3.}, 1, 1.0986122886681098},
    {"above everything", {0, 0}, 1000, {0, 0}, 0, 1000},
    {"scores far below", {-1000, -1000}, 0, {0, 0}, 0, 0},
    {"below everything", {0, 0}, -1000, {.5, .5}, 1.5, 0.6931471805599453},
    {"none", {0, 0}, -(double)INFINITY, {.5, .5}, 1.5, 0.6931471805599453},
    {"all hidden", {-(double)INFINITY, -(double)INFINITY}, .5, {0, 0}, 0, .5},
    {"all hidden, no sink",
     {-(double)INFINITY, -(double)INFINITY},
     -(double)INFINITY,
     {0, 0},
     0,
     -(double)INFINITY},
};

static void weights_outputs_and_log_sum_exp(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 2, 1, 1};
    for (size_t i = 0; i < TEST_COUNT(sink_cases); i++) {
        const struct sink_case *c = &sink_cases[i];
        const float sink = (float)c->sink;
        struct call call = call_uniform(&shape);
        struct headwise_tensor mask = call_tensor(
            HEADWISE_F32, 1, 1, 1, 2, (const float[]){(float)c->scores[0], (float)c->scores[1]});
        call.given.mask = &mask;
        call.options.sinks = &sink;
        call_probe(&call, CALL_WEIGHTS | CALL_LSE, HEADWISE_SCORES_MASKED);
        call_run(isa, &call);
        call_expect_y(&call, &c->y, c->name);
        for (int j = 0; j < 2; j++)
            compare_expect((double)call.probe.weights[j], c->weights[j], 1e-6 * c->weights[j],
                           "%s: weight %d", c->name, j);
        compare_expect((double)call.probe.lse[0], c->lse, isinf(c->lse) ? 0 : 1e-6 * fabs(c->lse),
                       "%s: log-sum-exp", c->name);
        guard_reset();
    }
}

static void a_batch_without_keys_has_the_sink_alone(enum headwise_isa isa) {
    const struct call_shape shape = {2, 3, 1, 4, 0, 8, 5};
    const float sinks[] = {-3, 0.25f, 7};
    struct test_rng rng = test_rng_make(171);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.options.sinks = sinks;
    call_probe(&call, CALL_LSE | CALL_HEADS, HEADWISE_SCORES_MASKED);
    call_run(isa, &call);
    for (int64_t at = 0; at < 2 * 3 * 4 * 5; at++)
        compare_expect((double)((float *)call.y.data)[at], 0, 0, "y");
    for (int64_t at = 0; at < 2 * 3 * 4; at++)
        compare_expect((double)call.probe.lse[at], (double)sinks[at / 4 % 3], 0, "log-sum-exp");
}

/* More than one key block, one query: with threads the blocks are computed apart, and the sink must
 * count once all the same. */
static void threads_change_no_bit(enum headwise_isa isa) {
    const int64_t keys[] = {3, 257, 513, 1500};
    const int threads[] = {1, 2, 3, 5, 8};
    const float sinks[] = {-1, 0, 3, 12};
    struct test_rng rng = test_rng_make(172);
    for (size_t k = 0; k < TEST_COUNT(keys); k++) {
        const struct call_shape shape = {1, 4, 2, 1, keys[k], 16, 8};
        struct call first = call_make(&rng, &shape, HEADWISE_F32, 0);
        first.options.sinks = sinks;
        call_probe(&first, CALL_ALL & ~CALL_MEAN, HEADWISE_SCORES_MASKED);
        call_expect_oracle(isa, &first);
        for (size_t t = 0; t < TEST_COUNT(threads); t++) {
            headwise_context *context = call_context(isa, threads[t]);
            struct call call = first;
            call_new_outputs(&call);
            call_run_with(context, &call);
            call_expect_same(&call, &first, "threads");
            headwise_context_destroy(context);
        }
        guard_reset();
    }
}

static void a_sink_that_is_no_number_is_refused(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 1, 4, 8, 5};
    const float bad[] = {NAN, INFINITY};
    struct test_rng rng = test_rng_make(173);
    headwise_context *context = call_context(isa, 1);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        const float sinks[] = {0, bad[i]};
        call.options.sinks = sinks;
        assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
        assert_non_null(strstr(headwise_last_error(), "attention: sinks[1] is "));
    }
    guard_expect_untouched(call.y.data, 2 * 5 * sizeof(float), "y");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(weights_outputs_and_log_sum_exp),
        TEST_CASE(a_batch_without_keys_has_the_sink_alone),
        TEST_CASE(threads_change_no_bit),
        TEST_CASE(a_sink_that_is_no_number_is_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
