/* Layers that normalize and turn their queries and keys. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

#define HALF HEADWISE_PAIRS_HALF
#define INTERLEAVED HEADWISE_PAIRS_INTERLEAVED

static headwise_rotary *make_table(int64_t rotary_dim, int64_t n_positions,
                                   enum headwise_pairs pairs) {
    const struct headwise_rotary_config config = {.size = sizeof(config),
                                                  .rotary_dim = rotary_dim,
                                                  .n_positions = n_positions,
                                                  .pairs = pairs};
    headwise_context *context = NULL;
    headwise_rotary *rotary = NULL;
    assert_int_equal(headwise_context_create(&context, NULL), HEADWISE_OK);
    assert_int_equal(headwise_rotary_create(&rotary, context, &config), HEADWISE_OK);
    headwise_context_destroy(context);
    return rotary;
}

static const float *random_floats(struct test_rng *rng, int64_t n, float scale) {
    float *x = guard_floats((size_t)n);
    test_rng_fill(rng, x, (size_t)n, scale);
    return x;
}

/* Bits: norm of the queries 1, of the keys 2, biases 4, LayerNorm 8, weights plus one 16. */
static void add_norms(struct test_rng *rng, struct headwise_mha_config *config, int64_t dim,
                      int kinds) {
    config->q_norm = kinds & 1 ? random_floats(rng, dim, 1) : NULL;
    config->k_norm = kinds & 2 ? random_floats(rng, dim, 1) : NULL;
    config->q_norm_bias = (kinds & 5) == 5 ? random_floats(rng, dim, 1) : NULL;
    config->k_norm_bias = (kinds & 6) == 6 ? random_floats(rng, dim, 1) : NULL;
    config->norm = kinds & 8 ? HEADWISE_NORM_LAYER : HEADWISE_NORM_RMS;
    config->norm_adds_one = (kinds & 16) != 0;
}

static void norms_of_every_kind(enum headwise_isa isa) {
    const int64_t dims[] = {1, 5, 16, 33, 80};
    const float epsilons[] = {0, 1e-5f, 0.5f};
    struct test_rng rng = test_rng_make(211);
    for (int kinds = 0; kinds < 32; kinds++)
        for (size_t d = 0; d < TEST_COUNT(dims); d++) {
            struct headwise_mha_config config = {
                .d_model = 24, .n_heads = 4, .n_kv_heads = 2, .head_dim = dims[d], .value_dim = 6};
            layer_fill_weights(&rng, &config, kinds % 3 != 0);
            add_norms(&rng, &config, dims[d], kinds);
            config.norm_eps = epsilons[d % TEST_COUNT(epsilons)];
            struct layer_call call =
                layer_call_make(&rng, &config, 2, kinds == 3 ? 70 : 5, -1, HEADWISE_F32);
            layer_call_probe(&call, HEADWISE_SCORES_MASKED);
            layer_expect_oracle(isa, &call);
            guard_reset();
        }
}

/* Queries from x, keys from a memory: each has its own number of rows. */
static void norms_with_a_memory(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(212);
    struct headwise_mha_config config = {.d_model = 20, .d_memory = 28, .n_heads = 4};
    for (int kinds = 1; kinds < 4; kinds++) {
        layer_fill_weights(&rng, &config, true);
        add_norms(&rng, &config, 5, kinds);
        struct layer_call call = layer_call_make(&rng, &config, 2, 67, 133, HEADWISE_F32);
        layer_expect_oracle(isa, &call);
        guard_reset();
    }
}

static void rotary_of_every_kind(enum headwise_isa isa) {
    const int64_t dims[] = {2, 7, 16, 40}, rotary_dims[] = {2, 6, 16, 10};
    struct test_rng rng = test_rng_make(213);
    for (size_t d = 0; d < TEST_COUNT(dims); d++)
        for (int kinds = 0; kinds < 32; kinds += kinds < 3 ? 1 : 7)
            for (int variant = 0; variant < 4; variant++) {
                enum headwise_pairs pairs = variant % 2 ? INTERLEAVED : HALF;
                headwise_rotary *rotary = make_table(rotary_dims[d], 300, pairs);
                int64_t positions[2 * 6];
                struct headwise_mha_config config = {.d_model = 24,
                                                     .n_heads = 4,
                                                     .n_kv_heads = 1 + variant / 2,
                                                     .head_dim = dims[d],
                                                     .rotary = rotary};
                layer_fill_weights(&rng, &config, kinds % 2);
                add_norms(&rng, &config, dims[d], kinds);
                struct layer_call call = layer_call_make(&rng, &config, 2, 6, -1, HEADWISE_F32);
                for (int i = 0; i < 12; i++)
                    positions[i] = test_rng_below(&rng, 300);
                if (variant >= 2)
                    call.given.positions = positions;
                call.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
                layer_call_probe(&call, HEADWISE_SCORES_SCALED);
                layer_expect_oracle(isa, &call);
                headwise_rotary_destroy(rotary);
                guard_reset();
            }
}

/* Past rows stay as they are, new ones begin at their number. */
static void positions_go_on_after_the_past(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(214);
    headwise_rotary *rotary = make_table(8, 90, HALF);
    struct headwise_mha_config config = {
        .d_model = 32, .n_heads = 4, .n_kv_heads = 2, .rotary = rotary};
    layer_fill_weights(&rng, &config, true);
    struct layer_call call = layer_call_make(&rng, &config, 2, 70, -1, HEADWISE_F32);
    struct headwise_tensor past_key = call_tensor(HEADWISE_F32, 2, 2, 20, 8, NULL);
    struct headwise_tensor past_value = call_tensor(HEADWISE_F32, 2, 2, 20, 8, NULL);
    call_fill(&rng, &past_key, 1);
    call_fill(&rng, &past_value, 1);
    call.given.past_key = &past_key;
    call.given.past_value = &past_value;
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    layer_expect_oracle(isa, &call);
    headwise_rotary_destroy(rotary);
}

/* One token after the other through present and past: the prompt's bits. */
static void decoding_gives_the_bits_of_the_prompt(enum headwise_isa isa) {
    enum { ROWS = 11, DIM = 12 };
    struct test_rng rng = test_rng_make(215);
    headwise_rotary *rotary = make_table(8, ROWS, INTERLEAVED);
    struct headwise_mha_config config = {
        .d_model = 48, .n_heads = 4, .n_kv_heads = 2, .rotary = rotary};
    layer_fill_weights(&rng, &config, true);
    add_norms(&rng, &config, DIM, 3);
    struct layer_call prompt = layer_call_make(&rng, &config, 1, ROWS, -1, HEADWISE_F32);
    prompt.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = layer_create(context, &config);
    layer_run_with(context, mha, &prompt);
    struct headwise_tensor past[2] = {call_tensor(HEADWISE_F32, 1, 2, 0, DIM, NULL),
                                      call_tensor(HEADWISE_F32, 1, 2, 0, DIM, NULL)};
    for (int64_t i = 0; i < ROWS; i++) {
        struct layer_call step = layer_call_make(&rng, &config, 1, 1, -1, HEADWISE_F32);
        struct headwise_tensor present[2] = {call_tensor(HEADWISE_F32, 1, 2, i + 1, DIM, NULL),
                                             call_tensor(HEADWISE_F32, 1, 2, i + 1, DIM, NULL)};
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
    headwise_rotary_destroy(rotary);
}

/* Rows of each head in the order of half-split pairs: 0, 2, 4, ..., then 1, 3, 5, ... */
static const float *permuted(const float *w, int64_t heads, int64_t dim, int64_t inputs) {
    float *out = guard_floats((size_t)(heads * dim * inputs));
    for (int64_t h = 0; h < heads; h++)
        for (int64_t d = 0; d < dim; d++) {
            int64_t from = d < dim / 2 ? 2 * d : 2 * (d - dim / 2) + 1;
            memcpy(out + (h * dim + d) * inputs, w + (h * dim + from) * inputs,
                   (size_t)inputs * sizeof(float));
        }
    return out;
}

/* Weights for interleaved pairs, their rows permuted within each head (of the keys: within each kv
 * head), are weights for half-split pairs. */
static void permuted_weights_are_the_other_convention(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(216);
    headwise_rotary *interleaved = make_table(10, 40, INTERLEAVED);
    headwise_rotary *half = make_table(10, 40, HALF);
    struct headwise_mha_config config = {
        .d_model = 30, .n_heads = 6, .n_kv_heads = 2, .head_dim = 10, .rotary = interleaved};
    layer_fill_weights(&rng, &config, false);
    struct layer_call call = layer_call_make(&rng, &config, 2, 20, -1, HEADWISE_F32);
    layer_expect_oracle(isa, &call);
    struct oracle_result *result = layer_oracle(&config, &call);
    struct headwise_mha_config other = config;
    other.rotary = half;
    other.w_q = permuted(config.w_q, 6, 10, 30);
    other.w_k = permuted(config.w_k, 2, 10, 30);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &other);
    layer_run_with(context, mha, &call);
    oracle_expect(result, &call.y, NULL);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    headwise_rotary_destroy(interleaved);
    headwise_rotary_destroy(half);
}

static void threads_and_tiers_change_no_bit(enum headwise_isa isa) {
    const int threads[] = {1, 2, 5, 8};
    enum headwise_isa tiers[4];
    int n_tiers = test_tiers(tiers);
    struct test_rng rng = test_rng_make(217);
    headwise_rotary *rotary = make_table(20, 200, HALF);
    struct headwise_mha_config config = {
        .d_model = 72, .n_heads = 6, .n_kv_heads = 3, .head_dim = 36, .rotary = rotary};
    layer_fill_weights(&rng, &config, true);
    add_norms(&rng, &config, 36, 15);
    struct layer_call call = layer_call_make(&rng, &config, 2, 130, -1, HEADWISE_F32), first = call;
    for (size_t t = 0; t < TEST_COUNT(threads); t++) {
        headwise_context *context = call_context(isa, threads[t]);
        headwise_mha *mha = layer_create(context, &config);
        call.y = call_tensor(HEADWISE_F32, 2, 1, 130, 72, NULL);
        layer_run_with(context, mha, &call);
        if (t == 0)
            first = call;
        compare_same_bits(call.y.data, first.y.data, 2 * 130 * 72, "%d threads", threads[t]);
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
    }
    for (int t = 0; isa != HEADWISE_ISA_SCALAR && t < n_tiers; t++) {
        if (tiers[t] == HEADWISE_ISA_SCALAR)
            continue;
        headwise_context *context = call_context(tiers[t], 1);
        headwise_mha *mha = layer_create(context, &config);
        layer_run_with(context, mha, &call);
        compare_same_bits(call.y.data, first.y.data, 2 * 130 * 72, "%s beside %s",
                          headwise_isa_name(tiers[t]), headwise_isa_name(isa));
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
    }
    headwise_rotary_destroy(rotary);
}

static void expect_config_refused(const struct headwise_mha_config *config, const char *text) {
    headwise_context *context = call_context(HEADWISE_ISA_SCALAR, 1);
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_mha_create(&mha, context, config), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(), text);
    assert_null(mha);
    headwise_context_destroy(context);
}

static void wrong_configs_are_refused(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(218);
    headwise_rotary *rotary = make_table(8, 4, HALF);
    struct headwise_mha_config good = {.d_model = 24, .n_heads = 4}, bad;
    (void)isa;
    layer_fill_weights(&rng, &good, false);
    bad = good;
    bad.rotary = rotary;
    expect_config_refused(&bad, "mha: rotary turns 8 components, a head has 6");
    bad.d_memory = 30;
    bad.head_dim = 8;
    expect_config_refused(
        &bad, "mha: a layer with rotary has no memory: d_memory is 30, expected d_model 24");
    bad = good;
    bad.q_norm_bias = random_floats(&rng, 6, 1);
    expect_config_refused(&bad, "mha: q_norm_bias is given without q_norm");
    bad.q_norm = bad.k_norm_bias = bad.q_norm_bias;
    expect_config_refused(&bad, "mha: k_norm_bias is given without k_norm");
    bad = good;
    bad.norm = 2;
    expect_config_refused(&bad, "mha: norm is 2, no headwise_norm");
    bad.norm = HEADWISE_NORM_RMS;
    bad.norm_eps = -1;
    expect_config_refused(&bad, "mha: norm_eps is -1, expected a finite number above 0, or 0");
    bad.norm_eps = NAN;
    expect_config_refused(&bad, "mha: norm_eps is nan, expected a finite number above 0, or 0");
    headwise_rotary_destroy(rotary);
}

static void expect_call_refused(headwise_context *context, const headwise_mha *mha,
                                const struct layer_call *call, const char *text) {
    assert_int_equal(layer_try(context, mha, call), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(), text);
}

static void wrong_positions_are_refused(enum headwise_isa isa) {
    const int64_t below[] = {0, 1, 2, 3, -1, 0}, beyond[] = {5, 1, 6, 3, 1, 0};
    struct test_rng rng = test_rng_make(219);
    headwise_rotary *rotary = make_table(6, 6, HALF);
    struct headwise_mha_config config = {.d_model = 24, .n_heads = 4, .rotary = rotary};
    layer_fill_weights(&rng, &config, false);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    struct layer_call call = layer_call_make(&rng, &config, 2, 3, -1, HEADWISE_F32);
    call.given.positions = below;
    expect_call_refused(context, mha, &call, "mha_forward: positions[1][1] is -1, expected 0 to 5");
    call.given.positions = beyond;
    expect_call_refused(context, mha, &call, "mha_forward: positions[0][2] is 6, expected 0 to 5");
    struct headwise_tensor past = call_tensor(HEADWISE_F32, 2, 4, 4, 6, NULL);
    call.given.positions = NULL;
    call.given.past_key = call.given.past_value = &past;
    expect_call_refused(
        context, mha, &call,
        "mha_forward: rows stand at positions 4 to 6, expected 0 to 5, the end of the table");
    struct layer_call cross = layer_call_make(&rng, &config, 2, 3, 4, HEADWISE_F32);
    expect_call_refused(
        context, mha, &cross,
        "mha_forward: memory is given, but a layer with rotary has no positions for it");
    guard_expect_untouched(call.y.data, 2 * 3 * 24 * sizeof(float), "y");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    headwise_rotary_destroy(rotary);
}

static void the_operator_refuses_positions(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 2, 3, 4, 4};
    const int64_t positions[] = {0, 1};
    struct test_rng rng = test_rng_make(220);
    headwise_context *context = call_context(isa, 1);
    struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
    call.given.positions = positions;
    assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
    assert_string_equal(
        headwise_last_error(),
        "attention: positions are for layers with rotary: turn q and k with headwise_rotate()");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(norms_of_every_kind),
        TEST_CASE(norms_with_a_memory),
        TEST_CASE(rotary_of_every_kind),
        TEST_CASE(positions_go_on_after_the_past),
        TEST_CASE(decoding_gives_the_bits_of_the_prompt),
        TEST_CASE(permuted_weights_are_the_other_convention),
        TEST_CASE(threads_and_tiers_change_no_bit),
        TEST_CASE(wrong_configs_are_refused),
        TEST_CASE(wrong_positions_are_refused),
        TEST_CASE(the_operator_refuses_positions),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
