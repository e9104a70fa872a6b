/* What the result loses without a head, scores over texts, and calls that are refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_headers.h"
#include "compare.h"
#include "runner.h"
#include "sight_support.h"

/* |b - a| / |a| in double, as sight has it. */
static double change_of(const float *a, const float *b, int64_t n) {
    double difference = 0, whole = 0;
    for (int64_t i = 0; i < n; i++) {
        double apart = (double)b[i] - (double)a[i];
        difference += apart * apart;
        whole += (double)a[i] * (double)a[i];
    }
    return sqrt(difference / whole);
}

/* The result is that of headwise_embed(), and without a head that of a call with its gate at 0. */
static void changes_are_those_of_gates(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "embedder", 2);
    float vector[SIGHT_WIDTH], gated[SIGHT_WIDTH], gates[SIGHT_ALL];
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .text = &sight_sentence});
    struct headwise_embed_call call = {
        .size = sizeof call, .n_texts = 1, .texts = &sight_sentence, .vectors = vector};
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_OK);
    assert_int_equal(run.info->n_result, SIGHT_WIDTH);
    compare_same_bits(run.info->result, vector, SIGHT_WIDTH, "the vector");
    call.gates = gates;
    call.vectors = gated;
    for (int h = 0; h < SIGHT_ALL; h++) {
        for (int i = 0; i < SIGHT_ALL; i++)
            gates[i] = i == h ? 0 : 1;
        assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_OK);
        double want = change_of(vector, gated, SIGHT_WIDTH);
        assert_true(want > 1e-4);
        compare_expect(run.info->heads[h].change, want, 1e-14, "change of head %d", h);
        assert_true(run.info->heads[h].norm > 0 && run.info->heads[h].residual > 0);
    }
    for (int layer = 0; layer < SIGHT_LAYERS; layer++) {
        double sum = 0;
        for (int h = 0; h < SIGHT_HEADS; h++)
            sum += run.info->heads[layer * SIGHT_HEADS + h].share;
        compare_expect(sum, 1, 1e-12, "shares of layer %d", layer);
    }
    sight_close(&run);
}

/* Logits of a pair, raw, and the change of the largest one. */
static void scores_of_pairs(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "reranker", 1);
    float score, gated, gates[SIGHT_ALL];
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .text = &sight_sentence,
                                                   .pair = &sight_second});
    struct headwise_classify_call call = {.size = sizeof call,
                                          .n_texts = 1,
                                          .texts = &sight_sentence,
                                          .pairs = &sight_second,
                                          .score_is_set = true,
                                          .scores = &score};
    assert_int_equal(headwise_classify(run.context, run.encoder, &call), HEADWISE_OK);
    assert_true(run.info->is_logits && run.info->n_result == 1);
    compare_same_bits(run.info->result, &score, 1, "the logit");
    call.gates = gates;
    call.scores = &gated;
    for (int h = 0; h < SIGHT_ALL; h++) {
        for (int i = 0; i < SIGHT_ALL; i++)
            gates[i] = i == h ? 0 : 1;
        assert_int_equal(headwise_classify(run.context, run.encoder, &call), HEADWISE_OK);
        compare_expect(run.info->heads[h].delta, (double)gated - (double)score, 0, "head %d", h);
    }
    sight_close(&run);
}

/* One answer: threads and passes change no bit. */
static void passes_change_no_bit(enum headwise_isa isa) {
    struct sight_run one = sight_open(isa, "embedder", 1), two = sight_open(isa, "embedder", 3);
    struct headwise_sight_call call = {.size = sizeof call, .text = &sight_sentence};
    sight_look(&one, &call);
    call.max_pass_tokens = 33;
    sight_look(&two, &call);
    assert_memory_equal(one.info->heads, two.info->heads, SIGHT_ALL * sizeof *one.info->heads);
    sight_close(&one);
    sight_close(&two);
}

static void kinds_are_means_over_texts(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "embedder", 1);
    const struct headwise_text texts[] = {sight_sentence, sight_second};
    double means[SIGHT_ALL][HEADWISE_KINDS], spreads[SIGHT_ALL][HEADWISE_KINDS];
    int64_t counts[SIGHT_ALL][HEADWISE_KINDS];
    struct headwise_sight_head heads[2][SIGHT_ALL];
    for (int t = 0; t < 2; t++) {
        sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                       .text = &texts[t]});
        memcpy(heads[t], run.info->heads, sizeof heads[t]);
        headwise_sight_destroy(run.sight);
        run.sight = NULL;
    }
    const struct headwise_kinds_call call = {.size = sizeof call,
                                             .n_texts = 2,
                                             .texts = texts,
                                             .means = means[0],
                                             .spreads = spreads[0],
                                             .counts = counts[0]};
    assert_int_equal(headwise_kinds(run.context, run.encoder, &call), HEADWISE_OK);
    for (int h = 0; h < SIGHT_ALL; h++) {
        for (int k = 0; k < HEADWISE_KINDS; k++) {
            double a = heads[0][h].kinds[k], b = heads[1][h].kinds[k];
            bool both = !isnan(b); /* "two dogs run." repeats nothing */
            assert_int_equal(counts[h][k], both ? 2 : 1);
            assert_int_equal(both, k != HEADWISE_KIND_REPEATED);
            compare_expect(means[h][k], both ? (a + b) / 2 : a, 1e-15, "head %d, kind %d", h, k);
            compare_expect(spreads[h][k], both ? fabs(a - b) / sqrt(2) : 0, 1e-15,
                           "head %d, kind %d", h, k);
        }
    }
    assert_string_equal(headwise_head_kind_name(HEADWISE_KIND_BROAD), "broad");
    assert_null(headwise_head_kind_name(HEADWISE_KINDS));
    sight_close(&run);
}

static void expect_refused(struct sight_run *run, const struct headwise_sight_call *call,
                           const char *line) {
    headwise_sight *sight = NULL;
    assert_int_equal(headwise_sight_create(&sight, run->context, run->encoder, call),
                     HEADWISE_ERR_INVALID);
    assert_null(sight);
    if (!strstr(headwise_model_last_error(), line))
        fail_msg("the line is '%s', expected '%s'", headwise_model_last_error(), line);
}

static void wrong_calls_are_refused(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "embedder", 1);
    const int32_t ids[] = {2, 99};
    const struct headwise_text broken = {"\xff", 1};
    struct headwise_sight_call call = {.size = sizeof call};
    expect_refused(&run, &call, "expected a text");
    call.ids = ids;
    expect_refused(&run, &call, "n_tokens is 0");
    call.n_tokens = 2;
    expect_refused(&run, &call, "ids[1] is 99");
    call.text = &sight_sentence;
    expect_refused(&run, &call, "expected a text");
    call.ids = NULL;
    call.most_cells = -1;
    expect_refused(&run, &call, "most_cells is -1");
    call.most_cells = 0;
    call.max_pass_tokens = -1;
    expect_refused(&run, &call, "max_pass_tokens is -1");
    call.max_pass_tokens = 0;
    call.text = &broken;
    expect_refused(&run, &call, "UTF-8");
    expect_refused(&run, NULL, "call is NULL");
    sight_close(&run);
}

/* A status of the function that is called after each layer ends the forward. */
static enum headwise_status stop_after(void *user, int64_t layer) {
    int64_t *last = user;
    *last = layer;
    return HEADWISE_ERR_CANCELLED;
}

static void a_layer_can_end_the_call(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "embedder", 1);
    const int32_t ids[] = {2, 3}, starts[] = {0, 2};
    int64_t last = -1;
    const struct headwise_transformer_call call = {.size = sizeof call,
                                                   .n_sequences = 1,
                                                   .starts = starts,
                                                   .ids = ids,
                                                   .layer_done = stop_after,
                                                   .layer_user = &last};
    assert_int_equal(headwise_transformer_forward(
                         run.context, headwise_encoder_describe(run.encoder)->transformer, &call),
                     HEADWISE_ERR_CANCELLED);
    assert_int_equal(last, 0);
    sight_close(&run);
}

int main(int argc, char **argv) {
    const struct test_case cases[] = {
        TEST_CASE(changes_are_those_of_gates), TEST_CASE(scores_of_pairs),
        TEST_CASE(passes_change_no_bit),       TEST_CASE(kinds_are_means_over_texts),
        TEST_CASE(wrong_calls_are_refused),    TEST_CASE(a_layer_can_end_the_call),
    };
    if (argc != 2)
        return fprintf(stderr, "usage: test_changes FOLDER\n"), 2;
    sight_folders = argv[1];
    return test_run_tiers(cases, TEST_COUNT(cases));
}
