/* Statistics of each row's weights, against the weights of the float64 reference. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "runner.h"

static struct headwise_statistics all_statistics(size_t rows) {
    return (struct headwise_statistics){
        .size = sizeof(struct headwise_statistics),
        .entropy = guard_floats(rows),
        .largest = guard_floats(rows),
        .strongest = guard_alloc(rows * sizeof(int64_t), 0),
        .mean_distance = guard_floats(rows),
        .self_weight = guard_floats(rows),
        .previous_weight = guard_floats(rows),
        .next_weight = guard_floats(rows),
        .first_weight = guard_floats(rows),
    };
}

static size_t count_rows(const struct call *call) {
    return (size_t)(call->shape.batch * call->shape.heads * call->shape.queries);
}

/* Runs the call for its statistics; y's bits must be those of the plain call. */
static struct headwise_statistics run(enum headwise_isa isa, struct call *call) {
    struct headwise_statistics statistics = all_statistics(count_rows(call));
    struct call plain = *call;
    call_run(isa, &plain);
    call_new_outputs(call);
    call->probe.size = sizeof(call->probe);
    call->probe.statistics = &statistics;
    call_run(isa, call);
    call_expect_same(call, &plain, "y with statistics");
    call->probe.statistics = NULL;
    return statistics;
}

/* One row of the reference. */
struct want {
    const double *weight, *weight_bound, *score, *score_bound;
    double lse, lse_bound;
    int64_t n;
    double position;
    double sink;
};

static bool seen(const struct want *want, int64_t j) {
    return want->score[j] > -(double)INFINITY;
}

/* Sums over a block have 16 chained steps, 4 of the fold, and blocks join with at most 6 more
 * operations each (two products and a sum for numerators, the shift of max for the entropy); 1/sum
 * and its product are 2. Twice the steps where products are rounded on their own. */
static double roundings(const struct want *want) {
    return 2 * 16 + 4 + 6 * ceil((double)want->n / 256) + 8;
}

/* sum w (lse - s), with the error of each weight, of each score and of lse, and the magnitudes that
 * roundings see: the engine sums w (s - max) and adds log(sum). */
static void expect_entropy(float got, const struct want *want, const char *what) {
    double entropy = 0, error = 0, magnitude = 0, max = want->sink;
    for (int64_t j = 0; j < want->n; j++)
        max = seen(want, j) ? fmax(max, want->score[j]) : max;
    for (int64_t j = 0; j < want->n; j++) {
        if (!seen(want, j))
            continue;
        double w = want->weight[j], w_error = want->weight_bound[j];
        double away = want->lse - want->score[j],
               away_error = want->lse_bound + want->score_bound[j];
        entropy += w * away;
        error += w_error * (fabs(away) + away_error) + w * away_error;
        magnitude += (w + w_error) * (max - want->score[j] + fabs(want->lse - max) + away_error);
    }
    compare_expect((double)got, entropy, error + bound_gamma(roundings(want)) * magnitude, "%s",
                   what);
}

static void expect_distance(float got, const struct want *want, const char *what) {
    double distance = 0, error = 0;
    for (int64_t j = 0; j < want->n; j++) {
        double away = fabs((double)j - want->position);
        distance += want->weight[j] * away;
        error += want->weight_bound[j] * away;
    }
    compare_expect((double)got, distance,
                   error + bound_gamma(roundings(want)) * (distance + error) + BOUND_NORMAL, "%s",
                   what);
}

/* The weight of one key, 0 where there is no such key. */
static void expect_weight(float got, const struct want *want, double key, const char *what) {
    bool exists = key >= 0 && key < (double)want->n;
    int64_t j = exists ? (int64_t)key : 0;
    double w = exists ? want->weight[j] : 0, error = exists ? want->weight_bound[j] : 0;
    compare_expect((double)got, w, error + bound_gamma(roundings(want)) * (w + error), "%s", what);
}

/* The largest weight lies between the largest lower and the largest upper end of the weights; the
 * strongest key's score must be able to be the largest one. */
static void expect_largest(float got, int64_t strongest, const struct want *want) {
    double low = 0, high = 0, largest = 0, most = -(double)INFINITY;
    for (int64_t j = 0; j < want->n; j++) {
        if (!seen(want, j))
            continue;
        low = fmax(low, want->weight[j] - want->weight_bound[j]);
        high = fmax(high, want->weight[j] + want->weight_bound[j]);
        largest = fmax(largest, want->weight[j]);
        most = fmax(most, want->score[j] - want->score_bound[j]);
    }
    compare_expect((double)got, largest, fmax(high - largest, largest - low) * (1 + 4 * BOUND_U),
                   "largest");
    if (most == -(double)INFINITY) {
        assert_int_equal(strongest, -1);
        return;
    }
    assert_true(strongest >= 0 && strongest < want->n && seen(want, strongest));
    assert_true(want->score[strongest] + want->score_bound[strongest] >= most);
}

static double position(const struct call *call, int64_t b, int64_t i) {
    const struct headwise_attention_options *o = &call->options;
    const struct headwise_attention_call *g = &call->given;
    int64_t keys = call_keys(call), offset = keys - call->shape.keys;
    if (o->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        offset = (g->key_lengths ? g->key_lengths[b] : keys) - call->shape.queries;
    return (double)i + (double)(g->query_offsets ? g->query_offsets[b] : offset);
}

static void expect_oracle(enum headwise_isa isa, struct call *call) {
    struct headwise_statistics got = run(isa, call);
    const struct oracle_result *r = call_oracle(call);
    for (size_t row = 0; row < count_rows(call); row++) {
        int64_t i = (int64_t)row % r->queries, h = (int64_t)row / r->queries % r->heads;
        const float *sinks = call->options.sinks;
        size_t at = row * (size_t)r->keys;
        struct want want = {
            .weight = r->weights + at,
            .weight_bound = r->weights_bound + at,
            .score = r->stage[2] + at,
            .score_bound = r->stage_bound[2] + at,
            .lse = r->lse[row],
            .lse_bound = r->lse_bound[row],
            .n = r->keys,
            .position = position(call, (int64_t)row / r->queries / r->heads, i),
            .sink = sinks ? (double)sinks[h] : -(double)INFINITY,
        };
        expect_entropy(got.entropy[row], &want, "entropy");
        expect_largest(got.largest[row], got.strongest[row], &want);
        expect_distance(got.mean_distance[row], &want, "mean distance");
        expect_weight(got.self_weight[row], &want, want.position, "self");
        expect_weight(got.previous_weight[row], &want, want.position - 1, "previous");
        expect_weight(got.next_weight[row], &want, want.position + 1, "next");
        expect_weight(got.first_weight[row], &want, 0, "first");
    }
    guard_reset();
}

static void match_the_weights(enum headwise_isa isa) {
    const struct call_shape shapes[] = {{2, 6, 2, 20, 300, 16, 9}, {1, 4, 4, 1, 1100, 16, 16},
                                        {1, 3, 1, 70, 70, 5, 3},   {1, 2, 2, 33, 1, 8, 8},
                                        {2, 2, 1, 5, 17, 4, 40},   {1, 1, 1, 257, 513, 32, 32}};
    const float scales[] = {0.05f, 1, 12};
    struct test_rng rng = test_rng_make(351);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (int causal = HEADWISE_CAUSAL_NONE; causal <= HEADWISE_CAUSAL_BOTTOM_RIGHT; causal++) {
            struct call call = call_make(&rng, &shapes[s], HEADWISE_F32, 0);
            call.options.causal = (enum headwise_causal)causal;
            call.options.scale_is_set = true;
            call.options.scale = scales[(s + (size_t)causal) % 3];
            expect_oracle(isa, &call);
        }
}

/* Windows leave blocks out, lengths and offsets move the token itself, even off the axis. */
static void follow_windows_lengths_and_offsets(enum headwise_isa isa) {
    const int64_t lengths[] = {0, 290, 600}, offsets[] = {-3, 300, 5000};
    const struct call_shape shape = {3, 4, 2, 19, 600, 8, 8};
    struct test_rng rng = test_rng_make(352);
    for (int variant = 0; variant < 6; variant++) {
        struct call call = call_make(&rng, &shape, HEADWISE_BF16, 0);
        call.options.causal = (enum headwise_causal)(variant % 3);
        call.given.key_lengths = lengths;
        call.given.query_offsets = variant >= 3 ? offsets : NULL;
        call.options.window_is_set = variant % 2 == 1;
        call.options.window_left = 30;
        call.options.window_right = 4;
        call.options.window_first = 2;
        expect_oracle(isa, &call);
    }
}

static void follow_masks_sinks_biases_and_gates(enum headwise_isa isa) {
    const float sinks[] = {0.5f, -INFINITY, 30, -2}, slopes[] = {0.5f, 0.1f, 0, 1};
    const float gates[] = {0, 1, -2, 0};
    const struct call_shape shape = {1, 4, 2, 12, 530, 8, 8};
    struct test_rng rng = test_rng_make(353);
    for (int variant = 0; variant < 8; variant++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        struct headwise_tensor mask = call_tensor(HEADWISE_F32, 1, 4, 12, 530, NULL);
        call_fill(&rng, &mask, 3);
        for (int64_t at = 0; at < 4 * 12 * 530; at++) /* row 3 of every head sees nothing */
            if (test_rng_below(&rng, 3) == 0 || at / 530 % 12 == 3)
                ((float *)mask.data)[at] = -INFINITY;
        call.given.mask = variant & 1 ? &mask : NULL;
        call.options.sinks = variant & 2 ? sinks : NULL;
        call.options.alibi_slopes = variant & 4 ? slopes : NULL;
        call.given.head_gates = gates;
        call.options.softcap = variant == 7 ? 4 : 0;
        expect_oracle(isa, &call);
    }
}

/* Equal scores: ln n, 1/n, and the first key that is seen. */
static void uniform_rows(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 600, 600, 1, 1};
    struct call call = call_uniform(&shape);
    call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    call.options.window_is_set = true;
    call.options.window_left = 299;
    call.options.window_right = -1;
    struct headwise_statistics got = run(isa, &call);
    for (int64_t i = 0; i < 600; i++) {
        int64_t first = i < 300 ? 0 : i - 299;
        double n = (double)(i - first + 1);
        assert_int_equal(got.strongest[i], first);
        compare_expect((double)got.entropy[i], log(n), 1e-6 * log(n), "entropy of %d", (int)n);
        compare_expect((double)got.largest[i], 1 / n, 1e-6 / n, "largest of %d", (int)n);
        compare_expect((double)got.mean_distance[i], (n - 1) / 2, 1e-6 * n, "distance");
        assert_true(got.next_weight[i] == 0);
    }
}

/* Masks of -FLT_MAX: where all scores drown in it the row is uniform, whatever the block; a block
 * of them beside a block of small scores has no weight. */
static void drowned_scores(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 3, 600, 4, 4};
    struct test_rng rng = test_rng_make(354);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_tensor mask = call_tensor(HEADWISE_F32, 1, 1, 3, 600, NULL);
    for (int64_t at = 0; at < 3 * 600; at++) {
        int64_t i = at / 600, j = at % 600;
        bool low = i == 0 || (i == 1 && j < 512) || (i == 2 && j >= 256);
        ((float *)mask.data)[at] = low ? -FLT_MAX : 0;
    }
    call.given.mask = &mask;
    struct headwise_statistics got = run(isa, &call);
    compare_expect((double)got.entropy[0], log(600), 1e-6 * log(600), "all drowned");
    compare_expect((double)got.mean_distance[0], 599.0 / 2, 1e-3, "distance of all drowned");
    for (int i = 1; i < 3; i++) {
        assert_true(got.entropy[i] > 4 && got.entropy[i] < 6);
        assert_true(i == 1 ? got.strongest[i] >= 512 : got.strongest[i] < 256);
    }
}

/* A row with a NaN has NaN, its neighbours do not; a hidden NaN changes no bit. */
static void nan_stays_in_its_row(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 2, 3, 300, 8, 8};
    struct test_rng rng = test_rng_make(355);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    ((float *)call.k.data)[299 * 8] = NAN; /* head 0, the last key: row 2 alone sees it */
    struct headwise_statistics got = run(isa, &call);
    const float *fields[] = {got.entropy,     got.largest,      got.mean_distance,  got.self_weight,
                             got.next_weight, got.first_weight, got.previous_weight};
    for (size_t f = 0; f < TEST_COUNT(fields); f++)
        for (int row = 0; row < 6; row++)
            assert_int_equal(isnan(fields[f][row]) != 0, row == 2);
}

/* Each array alone has the bits it has among all of them. */
static void null_fields_are_left_out(enum headwise_isa isa) {
    const struct call_shape shape = {1, 2, 1, 9, 300, 8, 8};
    struct test_rng rng = test_rng_make(356);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_statistics all = run(isa, &call);
    for (int field = 0; field < 9; field++) {
        struct headwise_statistics own = all_statistics(18);
        struct headwise_statistics one = {.size = sizeof one};
        one.entropy = field == 0 ? own.entropy : NULL;
        one.largest = field == 1 ? own.largest : NULL;
        one.strongest = field == 2 ? own.strongest : NULL;
        one.mean_distance = field == 3 ? own.mean_distance : NULL;
        one.self_weight = field == 4 ? own.self_weight : NULL;
        one.previous_weight = field == 5 ? own.previous_weight : NULL;
        one.next_weight = field == 6 ? own.next_weight : NULL;
        one.first_weight = field == 7 ? own.first_weight : NULL; /* 8: nothing at all */
        call.probe.statistics = &one;
        call_run(isa, &call);
        const float *got[] = {one.entropy,       one.largest,     NULL,
                              one.mean_distance, one.self_weight, one.previous_weight,
                              one.next_weight,   one.first_weight};
        const float *want[] = {all.entropy,       all.largest,     NULL,
                               all.mean_distance, all.self_weight, all.previous_weight,
                               all.next_weight,   all.first_weight};
        if (field < 8 && got[field])
            compare_same_bits(got[field], want[field], 18, "field %d", field);
        if (field == 2)
            assert_memory_equal(one.strongest, all.strongest, 18 * sizeof(int64_t));
    }
}

/* Threads and the split of their work change no bit. */
static void threads_change_no_bit(enum headwise_isa isa) {
    const struct call_shape shape = {1, 3, 1, 40, 1300, 16, 16};
    struct test_rng rng = test_rng_make(357);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_statistics one = run(isa, &call);
    for (int threads = 2; threads <= 7; threads += 5) {
        struct headwise_statistics many = all_statistics(120);
        headwise_context *context = call_context(isa, threads);
        call.probe.statistics = &many;
        call_run_with(context, &call);
        headwise_context_destroy(context);
        compare_same_bits(many.entropy, one.entropy, 120, "entropy, %d threads", threads);
        compare_same_bits(many.mean_distance, one.mean_distance, 120, "distance");
        compare_same_bits(many.largest, one.largest, 120, "largest");
        assert_memory_equal(many.strongest, one.strongest, 120 * sizeof(int64_t));
    }
}

/* 16,384 keys for 16,384 queries would be a map of 1 GB: the scratch stays below 4 MB. */
static void memory_does_not_grow_with_the_map(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 16384, 16384, 4, 4};
    struct test_rng rng = test_rng_make(358);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_statistics got = all_statistics(16384);
    headwise_context *context = call_context(isa, 1);
    call.options.window_is_set = true; /* the whole axis is walked, few keys are computed */
    call.options.window_left = 200;
    call.options.window_right = 0;
    call.probe.size = sizeof(call.probe);
    call.probe.statistics = &got;
    call_run_with(context, &call);
    assert_true(headwise_context_describe(context)->scratch_bytes < 4u << 20);
    headwise_context_destroy(context);
    assert_true(got.strongest[16383] > 16383 - 201 && got.mean_distance[16383] <= 200);
    assert_true(got.entropy[16383] > 0 && got.entropy[16383] <= (float)log(201) + 1e-5f);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(match_the_weights),
        TEST_CASE(follow_windows_lengths_and_offsets),
        TEST_CASE(follow_masks_sinks_biases_and_gates),
        TEST_CASE(uniform_rows),
        TEST_CASE(drowned_scores),
        TEST_CASE(nan_stays_in_its_row),
        TEST_CASE(null_fields_are_left_out),
        TEST_CASE(threads_change_no_bit),
        TEST_CASE(memory_does_not_grow_with_the_map),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
