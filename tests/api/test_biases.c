/* Biases by position: ALiBi and the relative bias of T5. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

/* One decoding step over four keys with equal scores and values 1 ... 4. Falcon adds the bias
 * before it scales, here by 1/2: slopes times the scale. */
static void alibi_of_a_decoding_step(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 4, 4, 1};
    const float slopes[] = {0.5f, 0.25f};
    const double y[] = {3.084576, 2.807095};
    for (int i = 0; i < 2; i++) {
        struct call call = call_uniform(&shape);
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        call.options.alibi_slopes = slopes + i;
        call_run(isa, &call);
        call_expect_y(&call, y + i, "alibi");
        guard_reset();
    }
}

/* Scores are the bias alone: each element of the table where it belongs. */
static void every_distance_has_its_element(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 5, 9, 4, 1};
    const int64_t reaches[] = {0, 1, 3, 20};
    for (size_t r = 0; r < TEST_COUNT(reaches); r++) {
        int64_t reach = reaches[r], row = 2 * reach + 1;
        float *table = guard_floats((size_t)(2 * row));
        struct call call = call_uniform(&shape);
        for (int64_t at = 0; at < 2 * row; at++)
            table[at] = (float)at + 0.5f;
        call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
        call.options.relative_bias = table;
        call.options.relative_reach = reach;
        call_probe(&call, CALL_SCORES, HEADWISE_SCORES_MASKED);
        call_run(isa, &call);
        for (int64_t h = 0; h < 2; h++)
            for (int64_t i = 0; i < 5; i++)
                for (int64_t j = 0; j < 9; j++) {
                    int64_t at = j - i < -reach ? -reach : j - i > reach ? reach : j - i;
                    double want = j > i ? -(double)INFINITY : (double)(h * row + at + reach) + 0.5;
                    compare_expect((double)call.probe.scores[(h * 5 + i) * 9 + j], want, 0,
                                   "reach %d, head %d, query %d, key %d", (int)reach, (int)h,
                                   (int)i, (int)j);
                }
        guard_reset();
    }
}

struct bias_call {
    struct call call;
    struct headwise_tensor mask;
    float slopes[4];
    int64_t offset;
};

/* Four heads, both biases, a mask, a softcap. */
static void make_bias_call(struct bias_call *b, struct test_rng *rng,
                           const struct call_shape *shape, int64_t reach) {
    float *table = guard_floats((size_t)(4 * (2 * reach + 1)));
    b->call = call_make(rng, shape, HEADWISE_F32, 0);
    b->mask = call_tensor(HEADWISE_F32, 1, 4, shape->queries, shape->keys, NULL);
    call_fill(rng, &b->mask, 2);
    test_rng_fill(rng, b->slopes, 4, 0.25f);
    test_rng_fill(rng, table, (size_t)(4 * (2 * reach + 1)), 3);
    b->call.options.softcap = 5;
    b->call.given.mask = &b->mask;
    b->call.options.alibi_slopes = b->slopes;
    b->call.options.relative_bias = table;
    b->call.options.relative_reach = reach;
}

static void biases_match_the_oracle(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 2, 7, 530, 8, 3};
    const int64_t reaches[] = {0, 1, 31, 128, 255, 256, 600};
    const int64_t offsets[] = {INT64_MIN, -600, -1, 0, 5, 255, 523, 5000, INT64_MAX};
    struct test_rng rng = test_rng_make(181);
    for (size_t r = 0; r < TEST_COUNT(reaches); r++)
        for (size_t o = 0; o < TEST_COUNT(offsets); o++) {
            struct bias_call b;
            make_bias_call(&b, &rng, &shape, reaches[r]);
            b.call.given.query_offsets = offsets + o;
            if (offsets[o] > 5000 || offsets[o] < -600)
                b.call.options.alibi_slopes = NULL; /* distances of 2^63 leave one key */
            call_probe(&b.call, CALL_ALL,
                       o % 2 == 0 ? HEADWISE_SCORES_MASKED : HEADWISE_SCORES_WEIGHTS);
            call_expect_oracle(isa, &b.call);
            guard_reset();
        }
}

static void threads_change_no_bit(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 2, 9, 1100, 8, 3};
    const int threads[] = {1, 3, 8};
    struct test_rng rng = test_rng_make(182);
    struct bias_call b;
    make_bias_call(&b, &rng, &shape, 128);
    b.call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_run(isa, &b.call);
    for (size_t t = 0; t < TEST_COUNT(threads); t++) {
        headwise_context *context = call_context(isa, threads[t]);
        struct call call = b.call;
        call_new_outputs(&call);
        call_run_with(context, &call);
        call_expect_same(&call, &b.call, "threads");
        headwise_context_destroy(context);
    }
}

/* One query at a time, at positions where an f32 distance is rounded: the rounding must not depend
 * on how far the tile of queries reaches. */
static void chunks_change_no_bit(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 2, 40, 700, 8, 3};
    const int64_t starts[] = {0, 500, (1 << 24) + 77};
    struct test_rng rng = test_rng_make(183);
    for (size_t s = 0; s < TEST_COUNT(starts); s++) {
        struct bias_call b;
        make_bias_call(&b, &rng, &shape, 100);
        for (int h = 0; h < 4; h++)
            b.slopes[h] *= 1e-3f;
        b.call.given.query_offsets = starts + s;
        b.call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
        call_run(isa, &b.call);
        for (int64_t i = 0; i < shape.queries; i++) {
            struct call one = b.call, part = b.call;
            struct headwise_tensor mask = b.mask;
            const int64_t offset = starts[s] + i;
            one.shape.queries = part.shape.queries = 1;
            one.q.size[2] = one.y.size[2] = part.y.size[2] = mask.size[2] = 1;
            one.q.data = (float *)one.q.data + i * one.q.stride[2];
            part.y.data = (float *)part.y.data + i * part.y.stride[2];
            mask.data = (float *)mask.data + i * mask.stride[2];
            one.given.mask = &mask;
            one.given.query_offsets = &offset;
            call_new_outputs(&one);
            call_run(isa, &one);
            call_expect_same(&one, &part, "one query");
        }
        guard_reset();
    }
}

/* -inf in the table hides a key: what it holds is not read into the result. */
static void minus_infinity_hides(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 3, 5, 1, 1};
    const float table[] = {0, -INFINITY, 0, -INFINITY, 0};
    struct call call = call_uniform(&shape);
    call.options.relative_bias = table;
    call.options.relative_reach = 2;
    call_run(isa, &call);
    /* query 0 sees 0, 2, 3, 4; query 1 sees 1, 3, 4; query 2 sees 0, 2, 4 */
    call_expect_y(&call, (const double[]){13 / 4., 11 / 3., 3}, "hidden by the bias");
    ((float *)call.v.data)[1] = NAN;
    call_new_outputs(&call);
    call_run(isa, &call);
    call_expect_y(&call, (const double[]){13 / 4., (double)NAN, 3}, "NaN where one query sees it");
}

static void wrong_biases_are_refused(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 1, 4, 8, 5};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const int64_t reaches[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 2};
    const float table[10] = {0};
    struct test_rng rng = test_rng_make(184);
    headwise_context *context = call_context(isa, 1);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        const float slopes[] = {0, bad[i]};
        call.options.alibi_slopes = slopes;
        assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
        assert_non_null(strstr(headwise_last_error(), "attention: alibi_slopes[1] is "));
    }
    call.options.alibi_slopes = NULL;
    call.options.relative_bias = table;
    for (size_t i = 0; i < TEST_COUNT(reaches); i++) {
        call.options.relative_reach = reaches[i];
        assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
        assert_non_null(strstr(headwise_last_error(), "attention: relative_reach is "));
    }
    guard_expect_untouched(call.y.data, 2 * 5 * sizeof(float), "y");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(alibi_of_a_decoding_step), TEST_CASE(every_distance_has_its_element),
        TEST_CASE(biases_match_the_oracle),  TEST_CASE(threads_change_no_bit),
        TEST_CASE(chunks_change_no_bit),     TEST_CASE(minus_infinity_hides),
        TEST_CASE(wrong_biases_are_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
