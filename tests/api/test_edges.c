/* Where numbers end: hidden keys beside infinite masks, NaN, 8 bits, layers without heads. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

/* A key that relative_bias hides stays hidden, whatever the mask holds there. */
static void what_a_bias_hides_stays_hidden(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 2, 1, 1};
    const float biases[3] = {0, 0, -INFINITY}, at_hidden[3] = {INFINITY, NAN, 5};
    for (size_t i = 0; i < TEST_COUNT(at_hidden); i++) {
        struct call call = call_uniform(&shape);
        struct headwise_tensor mask =
            call_tensor(HEADWISE_F32, 1, 1, 1, 2, (const float[]){0, at_hidden[i]});
        call.given.mask = &mask;
        call.options.relative_bias = biases;
        call.options.relative_reach = 1;
        call_probe(&call, CALL_WEIGHTS, HEADWISE_SCORES_MASKED);
        call_run(isa, &call);
        call_expect_y(&call, (const double[]){1}, "the visible key's value");
        assert_true(call.probe.weights[0] == 1.0f && call.probe.weights[1] == 0.0f);
        guard_reset();
    }
}

static void expect_nan_bits(float got, const char *what) {
    uint32_t bits;
    memcpy(&bits, &got, sizeof bits);
    if (bits != 0x7fc00000)
        fail_msg("%s has the bits %08x, expected 7fc00000", what, (unsigned)bits);
}

/* An infinite score makes the row NaN, the same one on every tier. */
static void nan_has_the_same_bits_everywhere(enum headwise_isa isa) {
    const struct call_shape shape = {1, 1, 1, 1, 2, 1, 1};
    float entropy, largest, distance, first;
    struct call call = call_uniform(&shape);
    call.q = call_tensor(HEADWISE_F32, 1, 1, 1, 1, (const float[]){1});
    call.k = call_tensor(HEADWISE_F32, 1, 1, 2, 1, (const float[]){INFINITY, 0});
    call_probe(&call, CALL_WEIGHTS | CALL_LSE, HEADWISE_SCORES_MASKED);
    const struct headwise_statistics statistics = {.size = sizeof statistics,
                                                   .entropy = &entropy,
                                                   .largest = &largest,
                                                   .mean_distance = &distance,
                                                   .first_weight = &first};
    call.probe.statistics = &statistics;
    call_run(isa, &call);
    expect_nan_bits(*(const float *)call.y.data, "y");
    expect_nan_bits(call.probe.lse[0], "lse");
    expect_nan_bits(call.probe.weights[0], "the weight");
    expect_nan_bits(entropy, "entropy");
    expect_nan_bits(largest, "largest");
    expect_nan_bits(distance, "mean_distance");
    expect_nan_bits(first, "first_weight");
}

/* The middle between two integers, and the floats beside it: x / scale is rounded before it is
 * rounded to an integer, so that the error passes scale / 2, by 127 * 2^-24 twice at most. */
static void an_8_bit_cache_keeps_its_bound(enum headwise_isa isa) {
    const struct headwise_cache_config config = {.size = sizeof config,
                                                 .n_sequences = 1,
                                                 .n_kv_heads = 1,
                                                 .head_dim = 2,
                                                 .capacity = 1,
                                                 .dtype = HEADWISE_I8};
    struct test_rng rng = test_rng_make(77);
    headwise_context *context = call_context(isa, 1);
    headwise_cache *cache;
    double worst = 0;
    assert_int_equal(headwise_cache_create(&cache, context, &config), HEADWISE_OK);
    for (int i = 0; i < 100000; i++) {
        float x[2] = {1.5f + 0.5f * test_rng_float(&rng), 0}, read[2];
        float scale = x[0] / 127;
        float middle = ((float)(i % 126) + 0.5f) * scale;
        x[1] = nextafterf(middle, i % 2 ? 0.0f : 9.0f);
        struct headwise_tensor row = headwise_tensor_bhrc(x, HEADWISE_F32, 1, 1, 1, 2);
        struct headwise_tensor back = headwise_tensor_bhrc(read, HEADWISE_F32, 1, 1, 1, 2);
        assert_int_equal(headwise_cache_truncate(cache, 0, 0), HEADWISE_OK);
        const struct headwise_attention_call append = {
            .size = sizeof append, .cache = cache, .k = &row, .v = &row};
        assert_int_equal(headwise_cache_append(context, &append), HEADWISE_OK);
        assert_int_equal(headwise_cache_read(cache, 0, 0, &back, NULL), HEADWISE_OK);
        double error = fabs((double)read[1] - (double)x[1]) / (double)scale;
        worst = error > worst ? error : worst;
    }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
    assert_true(worst > 0.5 - 1.0 / 1024); /* the middles were met */
    compare_expect(worst, 0.5, 1.0 / 65536, "the largest error, in scales");
}

/* A layer in 8 bits that lost all heads can be made again from what it gives. */
static void a_layer_without_heads_is_made_again(enum headwise_isa isa) {
    float w[16], scales[4], bias[4] = {1, 2, 3, 4}, x[4] = {1, 1, 1, 1}, y[4];
    const int64_t heads[2] = {0, 1};
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha, *pruned, *again;
    for (int i = 0; i < 16; i++)
        w[i] = (float)i / 64 - 0.4f;
    struct headwise_mha_config config = {.size = sizeof config,
                                         .d_model = 4,
                                         .n_heads = 2,
                                         .w_q = w,
                                         .w_k = w,
                                         .w_v = w,
                                         .w_o = w,
                                         .b_o = bias,
                                         .packed_dtype = HEADWISE_I8};
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    const struct headwise_prune_options prune = {
        .size = sizeof prune, .heads = heads, .n_heads = 2};
    assert_int_equal(headwise_mha_prune(&pruned, context, mha, &prune), HEADWISE_OK);
    assert_int_equal(headwise_mha_weights(pruned, NULL, NULL, scales, HEADWISE_MHA_O, 0),
                     HEADWISE_OK);
    const struct headwise_mha_info *info = headwise_mha_describe(pruned);
    config.n_heads = config.n_kv_heads = 0;
    config.head_dim = config.value_dim = 2;
    config.group_sizes = info->group_sizes;
    config.head_numbers = info->head_numbers;
    config.w_q = config.w_k = config.w_v = config.w_o = NULL;
    config.scales_o = scales;
    if (headwise_mha_create(&again, context, &config) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    struct headwise_tensor rows = headwise_tensor_brhc(x, HEADWISE_F32, 1, 1, 1, 4);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, 1, 1, 4);
    const struct headwise_attention_call call = {.size = sizeof call, .y = &out, .x = &rows};
    assert_int_equal(headwise_mha_forward(context, again, &call), HEADWISE_OK);
    assert_memory_equal(y, bias, sizeof bias);
    headwise_mha_destroy(again);
    headwise_mha_destroy(pruned);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(what_a_bias_hides_stays_hidden),
        TEST_CASE(nan_has_the_same_bits_everywhere),
        TEST_CASE(an_8_bit_cache_keeps_its_bound),
        TEST_CASE(a_layer_without_heads_is_made_again),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
