/* What callers may get wrong: each mistake gives its line, and leaves every output as it was. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "guard.h"
#include "networks_support.h"
#include "runner.h"
#include "small_network.h"

enum { D = 48, ROWS = 5 };

/* A call that is right. */
struct right {
    headwise_context *context;
    headwise_transformer *network;
    int32_t starts[3], ids[ROWS], types[ROWS];
    int64_t positions[ROWS], layers[1], logit_rows[2];
    float *last, *hidden, *pooled, *logits;
    struct headwise_transformer_call call;
};

static void make_right(struct right *right, enum headwise_isa isa, enum small_network which) {
    const char *folder = small_network_make(which);
    *right = (struct right){.starts = {0, 2, ROWS}, .ids = {1, 2, 3, 4, 5}, .layers = {2}};
    right->context = call_context(isa, 1);
    right->network = networks_open(right->context, folder, NULL);
    small_network_remove(folder);
    const struct headwise_transformer_info *info = headwise_transformer_describe(right->network);
    right->last = guard_floats(ROWS * D);
    right->hidden = guard_floats(ROWS * D);
    right->pooled = info->d_pooled > 0 ? guard_floats((size_t)(2 * info->d_pooled)) : NULL;
    right->logits = info->n_labels > 0 ? guard_floats((size_t)(ROWS * info->n_labels)) : NULL;
    right->call = (struct headwise_transformer_call){
        .size = sizeof right->call,
        .n_sequences = 2,
        .starts = right->starts,
        .ids = right->ids,
        .types = info->n_types > 0 ? right->types : NULL,
        .positions = right->positions,
        .last_hidden = right->last,
        .n_hidden = 1,
        .hidden_layers = right->layers,
        .hidden = right->hidden,
        .pooled = right->pooled,
        .logits = right->logits,
    };
}

static void drop_right(struct right *right) {
    headwise_transformer_destroy(right->network);
    headwise_context_destroy(right->context);
}

/* Runs what right has become and expects this text. */
static void expect(struct right *right, const char *text) {
    enum headwise_status status =
        headwise_transformer_forward(right->context, right->network, &right->call);
    assert_int_equal(status, HEADWISE_ERR_INVALID);
    if (strstr(headwise_model_last_error(), text) == NULL)
        fail_msg("\"%s\", expected \"%s\"", headwise_model_last_error(), text);
    guard_expect_untouched(right->last, ROWS * D * sizeof(float), "last");
    guard_expect_untouched(right->hidden, ROWS * D * sizeof(float), "hidden");
}

/* Changes one number, expects the text, and puts the number back. */
#define EXPECT(place, value, text)                                                                 \
    do {                                                                                           \
        struct right wrong = right;                                                                \
        wrong.call.starts = wrong.starts;                                                          \
        wrong.call.ids = wrong.ids;                                                                \
        wrong.call.types = wrong.call.types ? wrong.types : NULL;                                  \
        wrong.call.positions = wrong.positions;                                                    \
        wrong.call.hidden_layers = wrong.layers;                                                   \
        wrong.place = value;                                                                       \
        expect(&wrong, text);                                                                      \
    } while (0)

static void numbers(enum headwise_isa isa) {
    struct right right;
    make_right(&right, isa, SMALL_BERT);
    EXPECT(call.size, 8, "call->size is 8");
    EXPECT(call.n_sequences, -1, "negative");
    EXPECT(call.max_pass_tokens, -1, "negative");
    EXPECT(call.gate_sequence_stride, -1, "negative");
    EXPECT(call.starts, NULL, "starts is NULL");
    EXPECT(call.ids, NULL, "ids is NULL");
    EXPECT(call.hidden, NULL, "hidden is NULL");
    EXPECT(call.hidden_layers, NULL, "hidden_layers is NULL");
    EXPECT(call.n_hidden, -1, "n_hidden is -1");
    EXPECT(starts[0], 1, "starts[0] is 1");
    EXPECT(starts[1], 6, "starts[2] is 5, expected at least 6");
    EXPECT(starts[2], 200, "sequence 1 has 198 tokens, expected at most 80");
    EXPECT(ids[3], SMALL_IDS, "ids[3] is 61, expected 0 to 60");
    EXPECT(ids[0], -1, "ids[0] is -1");
    EXPECT(types[4], 2, "types[4] is 2, expected 0 to 1");
    EXPECT(positions[1], 80, "positions[1] is 80, expected 0 to 79");
    EXPECT(layers[0], 3, "hidden_layers[0] is 3, expected 0 to 2");
    EXPECT(call.pixels, right.last, "pixels is given");
    EXPECT(call.logit_rows, right.logit_rows, "logits are those of sequences");
    drop_right(&right);
}

static void heads_that_are_not_there(enum headwise_isa isa) {
    struct right right;
    int32_t types[ROWS] = {0};
    make_right(&right, isa, SMALL_LLAMA);
    EXPECT(call.pooled, right.last, "pooled is given");
    right.call.logit_rows = right.logit_rows;
    right.call.n_logit_rows = 2;
    EXPECT(call.n_logit_rows, -1, "n_logit_rows is -1");
    right.logit_rows[1] = ROWS;
    EXPECT(call.n_logit_rows, 2, "logit_rows[1] is 5, expected 0 to 4");
    right.call.logit_rows = NULL;
    right.call.types = NULL;
    struct right typed = right;
    typed.call.types = types;
    expect(&typed, "types are given");
    drop_right(&right);
    make_right(&right, isa, SMALL_VIT);
    expect(&right, "starts is given, but the network reads images");
    right.call.starts = NULL;
    right.call.ids = NULL;
    right.call.positions = NULL;
    expect(&right, "pixels is NULL");
    right.call.pixels = right.last;
    right.call.n_sequences = INT_MAX;
    expect(&right, "images are given, expected at most");
    drop_right(&right);
}

static void nothing_at_all(enum headwise_isa isa) {
    struct right right;
    struct headwise_transformer_call none = {.size = sizeof none};
    make_right(&right, isa, SMALL_BERT);
    assert_int_equal(headwise_transformer_forward(NULL, right.network, &none),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_transformer_forward(right.context, NULL, &none),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_transformer_forward(right.context, right.network, NULL),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_transformer_open(NULL, right.context, "x", NULL),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_transformer_open(&right.network, NULL, "x", NULL),
                     HEADWISE_ERR_INVALID);
    networks_forward(right.context, right.network, &none); /* no sequences: nothing to do */
    headwise_transformer_destroy(NULL);
    drop_right(&right);
}

/* An empty sequence gives zeros, and its neighbours what they gave without it. */
static void empty_sequences(enum headwise_isa isa) {
    struct right right;
    static const float zeros[D];
    float pooled[4 * D], logits[4 * 3], alone[D];
    static const int32_t starts[] = {0, 0, 5, 5, 5}, one[] = {0, 5};
    make_right(&right, isa, SMALL_BERT);
    right.call.starts = starts;
    right.call.n_sequences = 4;
    right.call.pooled = pooled;
    right.call.logits = logits;
    networks_forward(right.context, right.network, &right.call);
    for (int s = 0; s < 4; s++) {
        if (s != 1)
            assert_memory_equal(pooled + s * D, zeros, sizeof zeros);
    }
    right.call.starts = one;
    right.call.n_sequences = 1;
    right.call.pooled = alone;
    networks_forward(right.context, right.network, &right.call);
    assert_memory_equal(pooled + D, alone, sizeof alone);
    drop_right(&right);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(numbers),
                                             TEST_CASE(heads_that_are_not_there),
                                             TEST_CASE(nothing_at_all), TEST_CASE(empty_sequences)};
    return test_run_once(cases, TEST_COUNT(cases));
}
