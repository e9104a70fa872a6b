/* Correlations of maps and inner products of contributions, against plain float64. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

enum { MOST_HEADS = 8 };

static double *correlate(enum headwise_isa isa, const struct call *call, int threads) {
    double *r = guard_plain(MOST_HEADS * MOST_HEADS, sizeof(double));
    headwise_context *context = call_context(isa, threads);
    const struct headwise_attention_call arguments = call_arguments(call);
    if (headwise_map_correlation(context, r, &arguments) != HEADWISE_OK)
        fail_msg("headwise_map_correlation: %s", headwise_last_error());
    headwise_context_destroy(context);
    return r;
}

static double position(const struct call *call, int64_t b, int64_t i) {
    const struct headwise_attention_call *given = &call->given;
    int64_t keys = call_keys(call), offset = keys - call->shape.keys;
    if (call->options.causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        offset = (given->key_lengths ? given->key_lengths[b] : keys) - call->shape.queries;
    return (double)(i + (given->query_offsets ? given->query_offsets[b] : offset));
}

/* The entries that count, with the weights that the engine itself shows: [entry][head]. */
struct entries {
    double *w;
    int64_t n;
};

static struct entries list_entries(enum headwise_isa isa, const struct call *call) {
    struct call shown = *call;
    const struct call_shape *s = &call->shape;
    int64_t keys = call_keys(call), map = s->queries * keys;
    call_new_outputs(&shown);
    shown.given.head_gates = NULL;
    call_probe(&shown, CALL_WEIGHTS | CALL_SCORES, HEADWISE_SCORES_MASKED);
    call_run(isa, &shown);
    struct entries e = {guard_plain((size_t)(s->batch * map * s->heads), sizeof(double)), 0};
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t at = 0; at < map; at++) {
            bool seen = false;
            for (int64_t h = 0; h < s->heads; h++)
                seen = seen || shown.probe.scores[(b * s->heads + h) * map + at] > -INFINITY;
            if (!seen || (double)(at % keys) == position(call, b, at / keys))
                continue;
            for (int64_t h = 0; h < s->heads; h++)
                e.w[e.n * s->heads + h] =
                    (double)shown.probe.weights[(b * s->heads + h) * map + at];
            e.n++;
        }
    return e;
}

/* Pearson by its definition, means first. */
static double pearson(const struct entries *e, int64_t heads, int64_t g, int64_t h) {
    double mean_g = 0, mean_h = 0, gg = 0, hh = 0, gh = 0;
    for (int64_t i = 0; i < e->n; i++) {
        mean_g += e->w[i * heads + g] / (double)e->n;
        mean_h += e->w[i * heads + h] / (double)e->n;
    }
    for (int64_t i = 0; i < e->n; i++) {
        double a = e->w[i * heads + g] - mean_g, b = e->w[i * heads + h] - mean_h;
        gg += a * a;
        hh += b * b;
        gh += a * b;
    }
    return gh / sqrt(gg * hh);
}

/* Sums of up to 10^6 terms in float64 have errors of 1e-10 of their size; the mean's square is less
 * than the mean of squares, so that what is left of it is not much smaller. */
static void expect_correlation(enum headwise_isa isa, const struct call *call, const char *what) {
    const double *r = correlate(isa, call, 1);
    int64_t heads = call->shape.heads;
    struct entries e = list_entries(isa, call);
    assert_true(e.n > 10);
    for (int64_t g = 0; g < heads; g++)
        for (int64_t h = 0; h < heads; h++)
            compare_expect(r[g * heads + h], g == h ? 1 : pearson(&e, heads, g, h), 1e-8,
                           "%s, heads %d and %d", what, (int)g, (int)h);
    guard_reset();
}

static void correlation_matches_its_definition(enum headwise_isa isa) {
    const struct call_shape shapes[] = {
        {2, 4, 2, 30, 41, 8, 4}, {1, 4, 4, 700, 700, 8, 4}, {1, 3, 1, 1, 300, 16, 4}};
    struct test_rng rng = test_rng_make(391);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (int causal = HEADWISE_CAUSAL_NONE; causal <= HEADWISE_CAUSAL_BOTTOM_RIGHT; causal++) {
            if (shapes[s].queries == 1 && causal == HEADWISE_CAUSAL_TOP_LEFT)
                continue; /* one query, one key: no entry */
            struct call call = call_make(&rng, &shapes[s], HEADWISE_F32, 0);
            call_fill(&rng, &call.q, 4);
            call.options.causal = (enum headwise_causal)causal;
            expect_correlation(isa, &call, "plain");
        }
}

static void correlation_follows_the_options(enum headwise_isa isa) {
    const int64_t lengths[] = {260, 31}, offsets[] = {250, 3};
    const float sinks[] = {1, -2, 0, 3}, gates[] = {0, 1, 0, -1};
    const struct call_shape shape = {2, 4, 2, 25, 280, 8, 4};
    struct test_rng rng = test_rng_make(392);
    for (int variant = 0; variant < 16; variant++) {
        struct call call = call_make(&rng, &shape, HEADWISE_F16, 0);
        struct headwise_tensor mask =
            call_tensor(HEADWISE_BOOL, 1, variant & 8 ? 4 : 1, 25, 280, NULL);
        for (int64_t i = 0; i < mask.size[1] * 25 * 280; i++)
            ((uint8_t *)mask.data)[i] = test_rng_below(&rng, 3) != 0;
        call.given.key_lengths = variant & 1 ? lengths : NULL;
        call.given.query_offsets = variant & 2 ? offsets : NULL;
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        call.options.window_is_set = variant & 2;
        call.options.window_left = 20;
        call.options.window_right = -1;
        call.options.sinks = variant & 4 ? sinks : NULL;
        call.given.mask = variant & 4 ? &mask : NULL;
        call.given.head_gates = gates;
        expect_correlation(isa, &call, "options");
    }
}

static void correlation_counts_past_keys(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 2, 20, 20, 8, 4};
    struct test_rng rng = test_rng_make(393);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    struct headwise_tensor past_key = call_tensor(HEADWISE_F32, 1, 2, 33, 8, NULL);
    struct headwise_tensor past_value = call_tensor(HEADWISE_F32, 1, 2, 33, 4, NULL);
    call_fill(&rng, &past_key, 1);
    call_fill(&rng, &past_value, 1);
    call.given.past_key = &past_key;
    call.given.past_value = &past_value;
    call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    expect_correlation(isa, &call, "past");
}

/* Twins, a head that is uniform, and a head with a NaN. */
static void special_heads(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 4, 12, 40, 8, 4};
    struct test_rng rng = test_rng_make(394);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    float *q = call.q.data, *k = call.k.data;
    memcpy(q + 2 * 96, q, 96 * sizeof(float)); /* 2 is 0 again */
    memcpy(k + 2 * 320, k, 320 * sizeof(float));
    memset(q + 3 * 96, 0, 96 * sizeof(float)); /* 3 is uniform */
    const double *r = correlate(isa, &call, 1);
    compare_expect(r[0 * 4 + 2], 1, 1e-12, "twins");
    for (int h = 0; h < 3; h++)
        assert_true(r[3 * 4 + h] == 0 && r[h * 4 + 3] == 0);
    assert_true(r[3 * 4 + 3] == 1);
    k[320] = NAN;
    r = correlate(isa, &call, 1);
    for (int h = 0; h < 4; h++)
        assert_true(isnan(r[1 * 4 + h]) && isnan(r[h * 4 + 1]));
    compare_expect(r[0 * 4 + 2], 1, 1e-12, "twins beside NaN");
}

/* No entry, no query, no head. */
static void empty_maps(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(395);
    const struct call_shape shapes[] = {
        {1, 2, 2, 1, 1, 4, 4}, {1, 2, 2, 0, 5, 4, 4}, {1, 2, 2, 5, 0, 4, 4}, {0, 2, 2, 5, 5, 4, 4}};
    for (size_t s = 0; s < TEST_COUNT(shapes); s++) {
        struct call call = call_make(&rng, &shapes[s], HEADWISE_F32, 0);
        const double *r = correlate(isa, &call, 1);
        assert_true(r[0] == 1 && r[1] == 0 && r[2] == 0 && r[3] == 1);
    }
}

static void correlation_has_the_same_bits_for_any_threads(enum headwise_isa isa) {
    const struct call_shape shape = {1, 5, 5, 600, 600, 8, 4};
    struct test_rng rng = test_rng_make(396);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    const double *one = correlate(isa, &call, 1), *many = correlate(isa, &call, 3);
    assert_memory_equal(many, one, 25 * sizeof(double));
}

static void wrong_arguments_are_refused(enum headwise_isa isa) {
    const struct call_shape shape = {1, 4, 3, 5, 5, 4, 4};
    struct test_rng rng = test_rng_make(397);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    headwise_context *context = call_context(isa, 1);
    double r[16] = {7};
    const struct headwise_attention_options options = {.size = sizeof options, .softcap = -1};
    const struct headwise_attention_call right = {.size = sizeof right, .q = &call.q, .k = &call.q};
    const struct headwise_attention_call wrong[] = {
        {.size = sizeof right, .q = &call.q, .k = &call.k}, /* 4 heads on 3 */
        {.size = sizeof right, .k = &call.q},
        {.size = sizeof right, .q = &call.q},
        {.size = sizeof right, .q = &call.q, .k = &call.q, .options = &options},
    };
    assert_int_equal(headwise_map_correlation(NULL, r, &right), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_map_correlation(context, NULL, &right), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_map_correlation(context, r, NULL), HEADWISE_ERR_INVALID);
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_int_equal(headwise_map_correlation(context, r, wrong + i), HEADWISE_ERR_INVALID);
    assert_true(r[0] == 7);
    assert_int_equal(headwise_map_correlation(context, r, &right), HEADWISE_OK);
    headwise_context_destroy(context);
}

/* Maps are those of a batch, of keys in a tensor. */
static void caches_and_starts_are_refused(enum headwise_isa isa) {
    static const int32_t starts[] = {0, 5};
    const struct call_shape shape = {1, 4, 2, 5, 5, 4, 4};
    const struct headwise_cache_config form = {
        .size = sizeof form, .n_sequences = 1, .n_kv_heads = 2, .head_dim = 4, .capacity = 5};
    struct test_rng rng = test_rng_make(399);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    headwise_context *context = call_context(isa, 1);
    headwise_cache *cache = NULL;
    double r[16] = {7};
    assert_int_equal(headwise_cache_create(&cache, context, &form), HEADWISE_OK);
    struct headwise_attention_call arguments = call_arguments(&call);
    arguments.cache = cache;
    assert_int_equal(headwise_map_correlation(context, r, &arguments), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "map_correlation: cache is given, expected"));
    arguments.cache = NULL;
    arguments.n_sequences = 1;
    arguments.query_starts = starts;
    assert_int_equal(headwise_map_correlation(context, r, &arguments), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "map_correlation: sequences are given by"));
    assert_true(r[0] == 7);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* A layer that has run once with everything shown. */
struct shown {
    struct headwise_mha_config config;
    headwise_context *context;
    headwise_mha *mha;
    struct layer_call call;
    int64_t heads, batch, rows, d_out;
    double *gram;
};

static struct shown show(enum headwise_isa isa, int threads, int64_t rows) {
    struct test_rng rng = test_rng_make(398);
    struct shown s = {
        .config = {.d_model = 35, .n_heads = 5, .head_dim = 8, .value_dim = 6, .d_out = 37},
        .heads = 5,
        .batch = 2,
        .rows = rows,
        .d_out = 37};
    layer_fill_weights(&rng, &s.config, true);
    s.context = call_context(isa, threads);
    s.mha = layer_create(s.context, &s.config);
    s.call = layer_call_make(&rng, &s.config, s.batch, rows, -1, HEADWISE_F32);
    layer_call_probe(&s.call, HEADWISE_SCORES_MASKED);
    layer_run_with(s.context, s.mha, &s.call);
    s.gram = guard_plain(MOST_HEADS * MOST_HEADS, sizeof(double));
    if (headwise_contribution_gram(s.context, s.mha, s.gram, s.call.probe.head_outputs, s.batch,
                                   rows) != HEADWISE_OK)
        fail_msg("headwise_contribution_gram: %s", headwise_last_error());
    return s;
}

static void end_show(struct shown *s) {
    headwise_mha_destroy(s->mha);
    headwise_context_destroy(s->context);
}

/* The probe's contributions, multiplied out: the same f32 numbers, so float64's error alone. */
static void gram_matches_contributions(enum headwise_isa isa) {
    struct shown s = show(isa, 1, 150);
    int64_t n = s.rows * s.d_out;
    for (int64_t g = 0; g < s.heads; g++)
        for (int64_t h = 0; h < s.heads; h++) {
            double want = 0, magnitude = 0;
            for (int64_t b = 0; b < s.batch; b++)
                for (int64_t i = 0; i < n; i++) {
                    double term = (double)s.call.probe.contributions[(b * s.heads + g) * n + i] *
                                  (double)s.call.probe.contributions[(b * s.heads + h) * n + i];
                    want += term;
                    magnitude += fabs(term);
                }
            compare_expect(s.gram[g * s.heads + h], want, 1e-12 * magnitude, "%d, %d", (int)g,
                           (int)h);
            assert_true(s.gram[g * s.heads + h] == s.gram[h * s.heads + g]);
        }
    end_show(&s);
}

static double distance(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

/* What the gram says of every set of heads, against calls that gate them off. Each y is a sum of
 * 5 * 6 products and a bias, off by at most 31 roundings of numbers that sum up below 3 in size. */
static void changes_are_those_of_gated_calls(enum headwise_isa isa) {
    struct shown s = show(isa, 1, 20);
    int64_t n = s.batch * s.rows * s.d_out;
    double tolerance = 31 * 3 * 0x1p-24 * 2 * sqrt((double)n);
    struct layer_call gated = s.call;
    gated.y = call_tensor(HEADWISE_F32, s.batch, 1, s.rows, s.d_out, NULL);
    gated.probe.size = 0;
    for (unsigned set = 0; set < 32; set++) {
        int64_t gone[5], count = 0;
        float gates[5];
        for (int64_t h = 0; h < 5; h++) {
            gates[h] = set >> h & 1 ? 0.0f : 1.0f;
            if (set >> h & 1)
                gone[count++] = h;
        }
        gated.given.head_gates = gates;
        layer_run_with(s.context, s.mha, &gated);
        compare_expect(headwise_gram_change(s.gram, 5, gone, count),
                       distance(gated.y.data, s.call.y.data, n), tolerance, "set %u", set);
    }
    end_show(&s);
}

static void gram_measures(enum headwise_isa isa) {
    struct shown s = show(isa, 1, 20);
    double norms[5], shares[5], cosines[25], sum = 0, copy[25];
    headwise_gram_norms(norms, s.gram, 5);
    headwise_gram_shares(shares, s.gram, 5);
    headwise_gram_cosines(cosines, s.gram, 5);
    memcpy(copy, s.gram, sizeof copy);
    headwise_gram_cosines(copy, copy, 5); /* in place */
    assert_memory_equal(copy, cosines, sizeof copy);
    for (int64_t h = 0; h < 5; h++) {
        compare_expect(norms[h], headwise_gram_change(s.gram, 5, &h, 1), 1e-12 * norms[h], "norm");
        assert_true(cosines[h * 5 + h] == 1);
        sum += shares[h];
    }
    compare_expect(sum, 1, 1e-12, "shares");
    compare_expect(cosines[1 * 5 + 3], s.gram[1 * 5 + 3] / (norms[1] * norms[3]), 1e-12, "cosine");
    const double zero[4] = {0};
    headwise_gram_shares(shares, zero, 2);
    headwise_gram_cosines(cosines, zero, 2);
    assert_true(shares[0] == 0 && cosines[0] == 0 && cosines[1] == 0);
    end_show(&s);
}

static void gram_has_the_same_bits_for_any_threads(enum headwise_isa isa) {
    struct shown one = show(isa, 1, 150), many = show(isa, 3, 150);
    assert_memory_equal(many.gram, one.gram, 25 * sizeof(double));
    end_show(&one);
    end_show(&many);
}

static void gram_refuses_wrong_arguments(enum headwise_isa isa) {
    struct shown s = show(isa, 1, 3);
    const float *heads = s.call.probe.head_outputs;
    double gram[25] = {7};
    assert_int_equal(headwise_contribution_gram(NULL, s.mha, gram, heads, 2, 3),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_contribution_gram(s.context, NULL, gram, heads, 2, 3),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_contribution_gram(s.context, s.mha, NULL, heads, 2, 3),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_contribution_gram(s.context, s.mha, gram, NULL, 2, 3),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_contribution_gram(s.context, s.mha, gram, heads, -1, 3),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_contribution_gram(s.context, s.mha, gram, heads, 2, INT64_MAX / 3),
                     HEADWISE_ERR_INVALID);
    assert_true(gram[0] == 7);
    assert_int_equal(headwise_contribution_gram(s.context, s.mha, gram, NULL, 0, 3), HEADWISE_OK);
    assert_true(gram[0] == 0);
    end_show(&s);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(correlation_matches_its_definition),
        TEST_CASE(correlation_follows_the_options),
        TEST_CASE(correlation_counts_past_keys),
        TEST_CASE(special_heads),
        TEST_CASE(empty_maps),
        TEST_CASE(correlation_has_the_same_bits_for_any_threads),
        TEST_CASE(wrong_arguments_are_refused),
        TEST_CASE(caches_and_starts_are_refused),
        TEST_CASE(gram_matches_contributions),
        TEST_CASE(changes_are_those_of_gated_calls),
        TEST_CASE(gram_measures),
        TEST_CASE(gram_has_the_same_bits_for_any_threads),
        TEST_CASE(gram_refuses_wrong_arguments),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
