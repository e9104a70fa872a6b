/* What a sequence gives depends on its own tokens alone: the same bits alone, in any batch, with
 * any budget of tokens, on any number of threads, with and without probes. */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "networks_support.h"
#include "runner.h"
#include "scene.h"
#include "small_network.h"

static void expect_same(const struct scene *got, const struct scene *want, const char *what) {
    compare_same_bits(got->call.last_hidden, want->call.last_hidden, want->n_last, "%s: last",
                      what);
    compare_same_bits(got->call.hidden, want->call.hidden, want->n_hidden, "%s: hidden", what);
    compare_same_bits(got->call.pooled, want->call.pooled, want->n_pooled, "%s: pooled", what);
    compare_same_bits(got->call.logits, want->call.logits, want->n_logits, "%s: logits", what);
}

/* Runs the call with another budget, or with probes, into new outputs. */
static void expect_with(headwise_context *context, const struct scene *want, int64_t budget,
                        const struct headwise_probe *probes, const char *what) {
    struct scene got = *want;
    scene_outputs(&got);
    got.call.max_pass_tokens = budget;
    got.call.probes = probes;
    networks_forward(context, got.network, &got.call);
    expect_same(&got, want, what);
}

/* Sequence s by itself against its part of the whole. */
static void expect_alone(headwise_context *context, const struct scene *whole, int64_t s) {
    const struct headwise_transformer_info *info = whole->info;
    struct scene one = *whole;
    int32_t starts[2] = {0, 0};
    int64_t first = s * info->n_patches;
    one.call.n_sequences = 1;
    one.rows = info->n_patches;
    if (whole->call.starts != NULL) {
        first = whole->call.starts[s];
        one.rows = starts[1] = whole->call.starts[s + 1] - (int32_t)first;
        one.call.starts = starts;
        one.call.ids += first;
        one.call.types = one.call.types != NULL ? one.call.types + first : NULL;
    } else {
        one.call.pixels += s * info->n_channels * info->image_height * info->image_width;
    }
    scene_outputs(&one);
    networks_forward(context, one.network, &one.call);
    compare_same_bits(one.call.last_hidden, whole->call.last_hidden + first * info->d_model,
                      one.n_last, "sequence %lld alone", (long long)s);
    for (int64_t i = 0; i < one.call.n_hidden; i++)
        compare_same_bits(one.call.hidden + i * (int64_t)one.n_last,
                          whole->call.hidden + (i * whole->rows + first) * info->d_model,
                          one.n_last, "sequence %lld alone: hidden %lld", (long long)s,
                          (long long)i);
    compare_same_bits(one.call.pooled, whole->call.pooled + s * info->d_pooled, one.n_pooled,
                      "sequence %lld alone: pooled", (long long)s);
    compare_same_bits(one.call.logits,
                      whole->call.logits + (info->logits_of_rows ? first : s) * info->n_labels,
                      one.n_logits, "sequence %lld alone: logits", (long long)s);
}

/* Logits of rows that are named, in another order. */
static void expect_chosen(headwise_context *context, const struct scene *whole) {
    int64_t n = whole->info->n_labels, rows[] = {whole->rows - 1, 3, 4, 5, 0, 3, 70};
    enum { N = sizeof rows / sizeof *rows };
    struct headwise_transformer_call call = whole->call;
    call.last_hidden = call.hidden = NULL;
    call.n_hidden = 0;
    call.logits = guard_floats((size_t)(N * n));
    call.n_logit_rows = N;
    call.logit_rows = rows;
    for (int64_t budget = 0; budget < 100; budget += 50) {
        call.max_pass_tokens = budget;
        networks_forward(context, whole->network, &call);
        for (int i = 0; i < N; i++)
            compare_same_bits(call.logits + i * n, whole->call.logits + rows[i] * n, (size_t)n,
                              "logits of row %lld", (long long)rows[i]);
    }
}

static void expect_probed(headwise_context *context, const struct scene *whole) {
    struct headwise_probe probes[MOST_LAYERS];
    struct headwise_statistics statistics = {.size = sizeof statistics};
    size_t n = (size_t)(MOST_HEADS * whole->rows);
    statistics.entropy = guard_floats(n);
    for (int i = 0; i < MOST_LAYERS; i++)
        probes[i] = (struct headwise_probe){
            .size = sizeof *probes, .lse = guard_floats(n), .statistics = &statistics};
    expect_with(context, whole, 7, probes, "with probes");
}

/* A gate of each sequence, head and layer, 1 or not: sequences with ones are as without. */
static void expect_gated(headwise_context *context, const struct scene *whole) {
    const struct headwise_transformer_info *info = whole->info;
    int64_t of_sequence = info->n_layers * info->most_heads;
    struct scene gated = *whole, ones = *whole;
    float *gates = guard_floats((size_t)(whole->call.n_sequences * of_sequence));
    for (int64_t i = 0; i < whole->call.n_sequences * of_sequence; i++)
        gates[i] = i / of_sequence % 2 == 1 && i % 3 == 0 ? 0 : 1;
    scene_outputs(&gated);
    gated.call.gates = gates;
    gated.call.gate_sequence_stride = of_sequence;
    networks_forward(context, gated.network, &gated.call);
    expect_with(context, &gated, 20, NULL, "gates with a budget");
    for (int64_t i = 0; i < of_sequence; i++)
        assert_true(gates[i] == 1);
    scene_outputs(&ones);
    ones.call.gates = gates; /* those of the first sequence for all */
    networks_forward(context, ones.network, &ones.call);
    expect_same(&ones, whole, "gates of one");
    assert_true(memcmp(gated.call.last_hidden, whole->call.last_hidden,
                       whole->n_last * sizeof(float)) != 0);
}

static void check_network(enum headwise_isa isa, enum small_network which,
                          enum headwise_checkpoint_weights weights) {
    const struct headwise_transformer_options options = {
        .size = sizeof options, .weights_is_set = true, .weights = weights};
    const char *folder = small_network_make(which);
    headwise_context *context = call_context(isa, 1);
    headwise_transformer *network = networks_open(context, folder, &options);
    small_network_remove(folder);
    struct scene whole = scene_make(network);
    networks_forward(context, network, &whole.call);
    for (int64_t s = 0; s < whole.call.n_sequences; s++)
        expect_alone(context, &whole, s);
    for (int64_t budget = 1; budget < 500; budget = 2 * budget + 9)
        expect_with(context, &whole, budget, NULL, "budget");
    expect_probed(context, &whole);
    expect_gated(context, &whole);
    if (whole.info->logits_of_rows)
        expect_chosen(context, &whole);
    for (int threads = 2; threads <= 5; threads++) {
        headwise_context *other = call_context(isa, threads);
        expect_with(other, &whole, threads % 2 * 100, NULL, "threads");
        headwise_context_destroy(other);
    }
    headwise_transformer_destroy(network);
    headwise_context_destroy(context);
}

static void one_answer(enum headwise_isa isa) {
    for (int which = 0; which < N_SMALL_NETWORKS; which++)
        check_network(isa, (enum small_network)which, HEADWISE_CHECKPOINT_WEIGHTS_F32);
}

static void one_answer_of_narrow_weights(enum headwise_isa isa) {
    check_network(isa, SMALL_BERT, HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC);
    check_network(isa, SMALL_MODERNBERT, HEADWISE_CHECKPOINT_WEIGHTS_I8);
    check_network(isa, SMALL_LLAMA, HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128);
    check_network(isa, SMALL_BERT, HEADWISE_CHECKPOINT_WEIGHTS_BF16);
    check_network(isa, SMALL_VIT, HEADWISE_CHECKPOINT_WEIGHTS_F16);
}

static void one_answer_of_a_pool(enum headwise_isa isa) {
    const struct headwise_pool_options options = {.size = sizeof options, .n_threads = 3};
    headwise_pool *pool = NULL;
    assert_int_equal(headwise_pool_create(&pool, &options), HEADWISE_OK);
    const struct headwise_context_options contexts = {
        .size = sizeof contexts, .isa = isa, .pool = pool};
    const char *folder = small_network_make(SMALL_BERT);
    headwise_context *context = NULL, *serial = call_context(isa, 1);
    assert_int_equal(headwise_context_create(&context, &contexts), HEADWISE_OK);
    headwise_transformer *network = networks_open(context, folder, NULL);
    small_network_remove(folder);
    struct scene whole = scene_make(network);
    networks_forward(serial, network, &whole.call);
    expect_with(context, &whole, 0, NULL, "a pool");
    expect_with(context, &whole, 50, NULL, "a pool with a budget");
    headwise_transformer_destroy(network);
    headwise_context_destroy(context);
    headwise_context_destroy(serial);
    headwise_pool_destroy(pool);
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(one_answer),
        TEST_CASE(one_answer_of_narrow_weights),
        TEST_CASE(one_answer_of_a_pool),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
