/* The layer against the oracle: sizes, layouts, types, memories, options, probe. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

static void sizes_of_every_kind(enum headwise_isa isa) {
    const struct headwise_mha_config configs[] = {
        {.d_model = 64, .n_heads = 8},
        {.d_model = 64, .n_heads = 1},
        {.d_model = 64, .n_heads = 64},
        {.d_model = 48, .n_heads = 3, .n_kv_heads = 1},
        {.d_model = 60, .n_heads = 6, .n_kv_heads = 2, .head_dim = 15, .value_dim = 7},
        {.d_model = 33, .d_out = 21, .n_heads = 4, .head_dim = 5, .value_dim = 9},
        {.d_model = 1, .n_heads = 1},
        {.d_model = 7, .d_out = 300, .n_heads = 2, .head_dim = 130, .value_dim = 33},
        {.d_model = 600, .n_heads = 3, .head_dim = 17},
    };
    struct test_rng rng = test_rng_make(171);
    for (size_t c = 0; c < TEST_COUNT(configs); c++)
        for (int biases = 0; biases < 2; biases++)
            for (int layout = HEADWISE_OUT_IN; layout <= HEADWISE_IN_OUT; layout++) {
                struct headwise_mha_config config = configs[c];
                config.layout = (enum headwise_layout)layout;
                layer_fill_weights(&rng, &config, biases);
                struct layer_call call =
                    layer_call_make(&rng, &config, 1 + biases, 5 + layout, -1, HEADWISE_F32);
                layer_call_probe(&call, HEADWISE_SCORES_MASKED);
                layer_expect_oracle(isa, &call);
                guard_reset();
            }
}

static void row_counts_around_the_tiles(enum headwise_isa isa) {
    const int64_t rows[] = {0, 1, 2, 3, 5, 6, 7, 11, 12, 13, 63, 64, 65, 130, 260};
    struct test_rng rng = test_rng_make(172);
    for (size_t r = 0; r < TEST_COUNT(rows); r++)
        for (int64_t batch = 0; batch < 3; batch++) {
            struct headwise_mha_config config = {.d_model = 24, .n_heads = 4, .n_kv_heads = 2};
            layer_fill_weights(&rng, &config, true);
            struct layer_call call =
                layer_call_make(&rng, &config, batch, rows[r], -1, HEADWISE_F32);
            call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
            layer_expect_oracle(isa, &call);
            guard_reset();
        }
}

/* Keys and values from a memory of its own width and length. */
static void cross_attention(enum headwise_isa isa) {
    const int64_t memory_rows[] = {0, 1, 9, 257};
    struct test_rng rng = test_rng_make(173);
    for (size_t m = 0; m < TEST_COUNT(memory_rows); m++) {
        struct headwise_mha_config config = {
            .d_model = 32, .d_memory = 20, .d_out = 40, .n_heads = 4, .n_kv_heads = 2};
        layer_fill_weights(&rng, &config, true);
        struct layer_call call = layer_call_make(&rng, &config, 2, 5, memory_rows[m], HEADWISE_F32);
        layer_call_probe(&call, HEADWISE_SCORES_CAPPED);
        layer_expect_oracle(isa, &call);
        guard_reset();
    }
}

static void types_of_weights_and_activations(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    struct test_rng rng = test_rng_make(174);
    for (size_t w = 0; w < TEST_COUNT(types); w++)
        for (size_t a = 0; a < TEST_COUNT(types); a++)
            for (int layout = HEADWISE_OUT_IN; layout <= HEADWISE_IN_OUT; layout++) {
                struct headwise_mha_config config = {.d_model = 40,
                                                     .n_heads = 5,
                                                     .weight_dtype = types[w],
                                                     .layout = (enum headwise_layout)layout};
                layer_fill_weights(&rng, &config, true);
                struct layer_call call = layer_call_make(&rng, &config, 2, 7, -1, types[a]);
                layer_expect_oracle(isa, &call);
                guard_reset();
            }
}

/* Masks, lengths, windows, gates, softcap and past reach the heads of a layer too. */
static void options_reach_the_heads(enum headwise_isa isa) {
    const int64_t lengths[] = {9, 4};
    const float gates[] = {1, 0, -0.5f, 2};
    struct test_rng rng = test_rng_make(175);
    struct headwise_mha_config config = {.d_model = 32, .n_heads = 4, .n_kv_heads = 2};
    layer_fill_weights(&rng, &config, true);
    for (int variant = 0; variant < 6; variant++) {
        struct layer_call call = layer_call_make(&rng, &config, 2, 6, -1, HEADWISE_F32);
        struct headwise_attention_options *o = &call.options;
        struct headwise_attention_call *g = &call.given;
        struct headwise_tensor past_key = call_tensor(HEADWISE_F32, 2, 2, 3, 8, NULL);
        struct headwise_tensor past_value = call_tensor(HEADWISE_F32, 2, 2, 3, 8, NULL);
        struct headwise_tensor mask = call_tensor(HEADWISE_F32, 1, 4, 6, 9, NULL);
        call_fill(&rng, &past_key, 1);
        call_fill(&rng, &past_value, 1);
        call_fill(&rng, &mask, 3);
        g->past_key = &past_key;
        g->past_value = &past_value;
        o->causal = (enum headwise_causal)(variant % 3);
        g->key_lengths = variant == 1 ? lengths : NULL;
        g->mask = variant == 2 ? &mask : NULL;
        g->head_gates = variant == 3 ? gates : NULL;
        o->window_is_set = variant == 4;
        o->window_left = 2;
        o->softcap = variant == 5 ? 1.5f : 0;
        layer_call_probe(&call, (enum headwise_score_stage)(variant % 4));
        layer_expect_oracle(isa, &call);
    }
}

/* present is the projected keys and values: fed back as past, decoding gives the prompt's bits. */
static void present_feeds_the_next_call(enum headwise_isa isa) {
    enum { ROWS = 9 };
    struct test_rng rng = test_rng_make(176);
    struct headwise_mha_config config = {.d_model = 48, .n_heads = 4, .n_kv_heads = 2};
    layer_fill_weights(&rng, &config, true);
    struct layer_call prompt = layer_call_make(&rng, &config, 1, ROWS, -1, HEADWISE_F32);
    prompt.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    layer_run_with(context, mha, &prompt);
    struct headwise_tensor past[2] = {call_tensor(HEADWISE_F32, 1, 2, 0, 12, NULL),
                                      call_tensor(HEADWISE_F32, 1, 2, 0, 12, NULL)};
    for (int64_t i = 0; i < ROWS; i++) {
        struct layer_call step = layer_call_make(&rng, &config, 1, 1, -1, HEADWISE_F32);
        struct headwise_tensor present[2] = {call_tensor(HEADWISE_F32, 1, 2, i + 1, 12, NULL),
                                             call_tensor(HEADWISE_F32, 1, 2, i + 1, 12, NULL)};
        memcpy(step.x.data, (float *)prompt.x.data + i * 48, 48 * sizeof(float));
        step.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        step.given.past_key = &past[0];
        step.given.past_value = &past[1];
        step.given.present_key = &present[0];
        step.given.present_value = &present[1];
        layer_run_with(context, mha, &step);
        compare_same_bits(step.y.data, (float *)prompt.y.data + i * 48, 48, "token %d", (int)i);
        past[0] = present[0];
        past[1] = present[1];
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Over the heads, contributions sum to y minus the bias of W_O. */
static void contributions_sum_to_the_output(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(177);
    struct headwise_mha_config config = {.d_model = 64, .n_heads = 8};
    layer_fill_weights(&rng, &config, true);
    struct layer_call call = layer_call_make(&rng, &config, 2, 12, -1, HEADWISE_F32);
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    layer_expect_oracle(isa, &call);
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < 12 * 64; i++) {
            double sum = (double)config.b_o[i % 64], magnitude = fabs(sum);
            for (int64_t h = 0; h < 8; h++) {
                double part = (double)call.probe.contributions[(b * 8 + h) * 12 * 64 + i];
                sum += part;
                magnitude += fabs(part);
            }
            /* Both sides round the same 64 products: 64 roundings each, on terms of at most the
             * sum of |head output * weight|, which is below 8 * 64 / 8 here. */
            compare_expect((double)((float *)call.y.data)[b * 12 * 64 + i], sum,
                           2 * 65 * 0x1p-24 * (magnitude + 8), "element %d", (int)i);
        }
}

/* Strided x and y inside wider rows. */
static void rows_further_apart(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(178);
    struct headwise_mha_config config = {.d_model = 20, .n_heads = 4};
    layer_fill_weights(&rng, &config, false);
    struct layer_call call = layer_call_make(&rng, &config, 2, 5, -1, HEADWISE_F32);
    struct headwise_tensor wide_x = call_tensor(HEADWISE_F32, 2, 1, 5, 27, NULL), wide_y = wide_x;
    wide_y = call_tensor(HEADWISE_F32, 2, 1, 5, 27, NULL);
    call_fill(&rng, &wide_x, 1);
    call.x = wide_x;
    call.y = wide_y;
    call.x.size[3] = call.y.size[3] = 20;
    layer_expect_oracle(isa, &call);
    for (int r = 0; r < 10; r++)
        guard_expect_untouched((float *)wide_y.data + r * 27 + 20, 7 * sizeof(float), "row gap");
}

static void sizes_are_resolved(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(179);
    struct headwise_mha_config config = {
        .d_model = 24, .d_memory = 10, .n_heads = 4, .n_kv_heads = 2, .value_dim = 5};
    layer_fill_weights(&rng, &config, false);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    assert_int_equal(headwise_mha_describe(mha)->d_model, 24);
    assert_int_equal(headwise_mha_describe(mha)->d_memory, 10);
    assert_int_equal(headwise_mha_describe(mha)->d_out, 24);
    assert_int_equal(headwise_mha_describe(mha)->n_heads, 4);
    assert_int_equal(headwise_mha_describe(mha)->n_kv_heads, 2);
    assert_int_equal(headwise_mha_describe(mha)->head_dim, 6);
    assert_int_equal(headwise_mha_describe(mha)->value_dim, 5);
    headwise_mha_destroy(mha);
    headwise_mha_destroy(NULL);
    headwise_context_destroy(context);
}

/* The layer keeps a copy: the caller may overwrite the weights, and destroy the context. */
static void weights_are_copied(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(180);
    struct headwise_mha_config config = {.d_model = 16, .n_heads = 2};
    layer_fill_weights(&rng, &config, true);
    struct layer_call before = layer_call_make(&rng, &config, 1, 3, -1, HEADWISE_F32);
    struct layer_call after = before;
    after.y = call_tensor(HEADWISE_F32, 1, 1, 3, 16, NULL);
    headwise_context *first = call_context(isa, 1), *second = call_context(isa, 1);
    headwise_mha *mha = layer_create(first, &config);
    layer_run_with(first, mha, &before);
    headwise_context_destroy(first);
    memset((void *)(uintptr_t)config.w_q, 0xff, 16 * 16 * sizeof(float));
    memset((void *)(uintptr_t)config.b_o, 0xff, 16 * sizeof(float));
    layer_run_with(second, mha, &after);
    compare_same_bits(after.y.data, before.y.data, 3 * 16, "after the weights changed");
    headwise_mha_destroy(mha);
    headwise_context_destroy(second);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(sizes_of_every_kind),
        TEST_CASE(row_counts_around_the_tiles),
        TEST_CASE(cross_attention),
        TEST_CASE(types_of_weights_and_activations),
        TEST_CASE(options_reach_the_heads),
        TEST_CASE(present_feeds_the_next_call),
        TEST_CASE(contributions_sum_to_the_output),
        TEST_CASE(rows_further_apart),
        TEST_CASE(sizes_are_resolved),
        TEST_CASE(weights_are_copied),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
