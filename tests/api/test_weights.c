/* Layers that keep their weights narrow: what is kept, the bits and the bounds of what they give.
 */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

static const enum headwise_dtype narrow_types[] = {HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};

/* What the layer keeps, as f32 in the layout of config: a config of the same layer. */
static struct headwise_mha_config read_back(const headwise_mha *mha,
                                            const struct headwise_mha_config *config) {
    struct headwise_mha_config kept = *config;
    int64_t q = headwise_mha_describe(mha)->n_heads * headwise_mha_describe(mha)->head_dim;
    int64_t k = headwise_mha_describe(mha)->n_kv_heads * headwise_mha_describe(mha)->head_dim;
    int64_t v = headwise_mha_describe(mha)->n_kv_heads * headwise_mha_describe(mha)->value_dim;
    int64_t o = headwise_mha_describe(mha)->n_heads * headwise_mha_describe(mha)->value_dim;
    const struct {
        const void **weights;
        int64_t inputs, outputs;
    } parts[] = {{&kept.w_q, headwise_mha_describe(mha)->d_model, q},
                 {&kept.w_k, headwise_mha_describe(mha)->d_memory, k},
                 {&kept.w_v, headwise_mha_describe(mha)->d_memory, v},
                 {&kept.w_o, o, headwise_mha_describe(mha)->d_out}};
    for (int p = 0; p < 4; p++) {
        float *weights = guard_floats((size_t)(parts[p].inputs * parts[p].outputs));
        assert_int_equal(headwise_mha_weights(mha, weights, NULL, NULL, (enum headwise_mha_part)p,
                                              config->layout),
                         HEADWISE_OK);
        *parts[p].weights = weights;
    }
    kept.weight_dtype = HEADWISE_F32;
    kept.scales_q = kept.scales_k = kept.scales_v = kept.scales_o = NULL;
    return kept;
}

/* W_Q of a layer as it is given and as it is kept, with the scales of its outputs. */
struct kept {
    const struct headwise_mha_config *config;
    const float *weights;
    float *scales;
    int64_t inputs, outputs;
};

/* Where the weight of an input in an output lies. */
static int64_t place(const struct kept *kept, int64_t out, int64_t in) {
    return kept->config->layout == HEADWISE_OUT_IN ? out * kept->inputs + in
                                                   : in * kept->outputs + out;
}

static void expect_rounded(const struct kept *kept) {
    enum headwise_dtype dtype = kept->config->packed_dtype;
    for (int64_t i = 0; i < kept->inputs * kept->outputs; i++) {
        double given = half_load(kept->config->weight_dtype, kept->config->w_q, i);
        float want = (float)half_to_double(dtype, half_from_double(dtype, given));
        compare_same_bits(&kept->weights[i], &want, 1, "%s weight %lld", headwise_dtype_name(dtype),
                          (long long)i);
    }
}

static void expect_quantised(const struct kept *kept) {
    for (int64_t out = 0; out < kept->outputs; out++) {
        double scale = (double)kept->scales[out], largest = 0;
        int exponent;
        for (int64_t in = 0; in < kept->inputs; in++) {
            int64_t at = place(kept, out, in);
            double given = half_load(kept->config->weight_dtype, kept->config->w_q, at);
            double integer = (double)kept->weights[at] / scale;
            assert_true(integer == rint(integer) && fabs(integer) <= 127);
            assert_true(fabs((double)kept->weights[at] - given) <= scale / 2 * (1 + 0x1p-20));
            largest = fmax(largest, fabs(given));
        }
        double bits16 = ldexp(frexp(scale, &exponent), 16);
        assert_true(bits16 == rint(bits16));
        assert_true(scale >= largest / 127 * (1 - 0x1p-23) &&
                    scale <= largest / 127 * (1 + 0x1p-15));
    }
}

static void weights_are_rounded_as_said(enum headwise_isa isa) {
    const enum headwise_dtype given[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    struct test_rng rng = test_rng_make(941);
    for (size_t i = 0; i < 3 * TEST_COUNT(given); i++)
        for (int layout = HEADWISE_OUT_IN; layout <= HEADWISE_IN_OUT; layout++) {
            struct headwise_mha_config config = {.d_model = 45,
                                                 .n_heads = 5,
                                                 .head_dim = 11,
                                                 .layout = (enum headwise_layout)layout,
                                                 .weight_dtype = given[i % 3],
                                                 .packed_dtype = narrow_types[i / 3]};
            layer_fill_weights(&rng, &config, false);
            headwise_context *context = call_context(isa, 1);
            headwise_mha *mha = layer_create(context, &config);
            struct headwise_mha_config as_kept = read_back(mha, &config);
            struct kept kept = {&config, as_kept.w_q, guard_floats(55), 45, 55};
            assert_int_equal(headwise_mha_describe(mha)->packed_dtype, config.packed_dtype);
            enum headwise_status status =
                headwise_mha_weights(mha, NULL, NULL, kept.scales, HEADWISE_MHA_Q, HEADWISE_OUT_IN);
            assert_int_equal(status, i / 3 == 2 ? HEADWISE_OK : HEADWISE_ERR_INVALID);
            if (i / 3 == 2)
                expect_quantised(&kept);
            else
                expect_rounded(&kept);
            headwise_mha_destroy(mha);
            headwise_context_destroy(context);
            guard_reset();
        }
}

/* Rows that take every path: one, few, more than a tile, many; inputs of one pass and of two. */
static const int64_t row_counts[] = {1, 5, 13, 60};
static const struct headwise_mha_config forms[] = {
    {.d_model = 40, .n_heads = 4, .n_kv_heads = 2, .head_dim = 9, .value_dim = 7, .d_out = 50},
    {.d_model = 300, .n_heads = 5, .head_dim = 67, .d_out = 33, .layout = HEADWISE_IN_OUT},
};

static struct headwise_mha_config make_config(struct test_rng *rng, size_t form,
                                              enum headwise_dtype dtype) {
    struct headwise_mha_config config = forms[form];
    config.packed_dtype = dtype;
    layer_fill_weights(rng, &config, form == 0);
    return config;
}

/* y of layers made from two configs, on the same x. */
static void expect_same_layers(enum headwise_isa isa, struct test_rng *rng,
                               const struct headwise_mha_config *a,
                               const struct headwise_mha_config *b, int64_t rows) {
    headwise_context *context = call_context(isa, 2);
    headwise_mha *layer_a = layer_create(context, a), *layer_b = layer_create(context, b);
    struct layer_call call = layer_call_make(rng, a, 2, rows, -1, HEADWISE_F32), same = call;
    size_t n = (size_t)(2 * rows * call.y.size[3]);
    same.y = call_tensor(HEADWISE_F32, 2, 1, rows, call.y.size[3], NULL);
    layer_call_probe(&call, HEADWISE_SCORES_SCALED);
    layer_call_probe(&same, HEADWISE_SCORES_SCALED);
    layer_run_with(context, layer_a, &call);
    layer_run_with(context, layer_b, &same);
    compare_same_bits(call.y.data, same.y.data, n, "%s, %lld rows",
                      headwise_dtype_name(a->packed_dtype), (long long)rows);
    compare_same_bits(call.probe.contributions, same.probe.contributions, n * (size_t)a->n_heads,
                      "contributions, %s, %lld rows", headwise_dtype_name(a->packed_dtype),
                      (long long)rows);
    headwise_mha_destroy(layer_a);
    headwise_mha_destroy(layer_b);
    headwise_context_destroy(context);
}

static struct headwise_mha_config kept_config(enum headwise_isa isa,
                                              const struct headwise_mha_config *config) {
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, config);
    struct headwise_mha_config kept = read_back(mha, config);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    return kept;
}

static void halves_have_the_bits_of_the_f32_layer(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(942);
    for (size_t i = 0; i < 2 * TEST_COUNT(forms) * TEST_COUNT(row_counts); i++) {
        struct headwise_mha_config config = make_config(&rng, i / 2 % 2, narrow_types[i % 2]);
        struct headwise_mha_config kept = kept_config(isa, &config);
        kept.packed_dtype = HEADWISE_F32;
        expect_same_layers(isa, &rng, &config, &kept, row_counts[i / 4]);
        guard_reset();
    }
}

static void what_is_read_back_gives_the_same_layer(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(943);
    for (size_t i = 0; i < 3 * TEST_COUNT(forms); i++) {
        struct headwise_mha_config config = make_config(&rng, i % 2, narrow_types[i / 2]);
        struct headwise_mha_config kept = kept_config(isa, &config);
        expect_same_layers(isa, &rng, &config, &kept, 5);
        guard_reset();
    }
}

/* Each row of a batch, whatever path it takes, has the bits of the row alone. */
static void rows_do_not_matter(enum headwise_isa isa) {
    enum { ROWS = 60 };
    struct test_rng rng = test_rng_make(944);
    for (size_t i = 0; i < 3 * TEST_COUNT(forms); i++) {
        struct headwise_mha_config config = make_config(&rng, i % 2, narrow_types[i / 2]);
        headwise_context *context = call_context(isa, 1);
        headwise_mha *mha = layer_create(context, &config);
        struct layer_call all = layer_call_make(&rng, &config, ROWS, 1, -1, HEADWISE_F32);
        int64_t n_out = all.y.size[3];
        layer_run_with(context, mha, &all);
        for (int64_t r = 0; r < ROWS; r += 7) {
            struct layer_call one = all;
            one.x = call_tensor(HEADWISE_F32, 1, 1, 1, config.d_model,
                                (float *)all.x.data + r * config.d_model);
            one.y = call_tensor(HEADWISE_F32, 1, 1, 1, n_out, NULL);
            layer_run_with(context, mha, &one);
            compare_same_bits(one.y.data, (float *)all.y.data + r * n_out, (size_t)n_out,
                              "%s row %lld", headwise_dtype_name(config.packed_dtype),
                              (long long)r);
        }
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        guard_reset();
    }
}

/* y, contributions and all else against float64 on the weights that are kept. */
static void within_the_bound_of_the_kept_weights(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(945);
    for (size_t i = 0; i < 3 * TEST_COUNT(forms) * TEST_COUNT(row_counts); i++) {
        struct headwise_mha_config config = make_config(&rng, i / 3 % 2, narrow_types[i % 3]);
        struct headwise_mha_config kept = kept_config(isa, &config);
        headwise_context *context = call_context(isa, 1);
        headwise_mha *mha = layer_create(context, &config);
        struct layer_call call =
            layer_call_make(&rng, &config, 1, row_counts[i / 6] % 20, -1, HEADWISE_F32);
        layer_call_probe(&call, HEADWISE_SCORES_SCALED);
        layer_run_with(context, mha, &call);
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        oracle_expect(layer_oracle(&kept, &call), &call.y, &call.probe);
        guard_reset();
    }
}

/* Integers and scales of the caller: the layer of the f32 weights that they stand for, packed with
 * the same scales, and read back as they are. */
static void integers_may_be_given(enum headwise_isa isa) {
    enum { D = 24, N = D * D };
    struct test_rng rng = test_rng_make(946);
    for (int layout = HEADWISE_OUT_IN; layout <= HEADWISE_IN_OUT; layout++) {
        int8_t *integers = guard_alloc(N, 1);
        float *scales = guard_floats(D), *weights = guard_floats(N), *read = guard_floats(N);
        for (int i = 0; i < D; i++)
            scales[i] = 0.001f * (1.5f + test_rng_float(&rng));
        for (int i = 0; i < N; i++) {
            integers[i] = (int8_t)(test_rng_below(&rng, 256) - 128);
            weights[i] = (float)integers[i] * scales[layout == HEADWISE_OUT_IN ? i / D : i % D];
        }
        struct headwise_mha_config given = {.size = sizeof given,
                                            .d_model = D,
                                            .n_heads = 3,
                                            .layout = (enum headwise_layout)layout,
                                            .weight_dtype = HEADWISE_I8,
                                            .packed_dtype = HEADWISE_I8};
        given.w_q = given.w_k = given.w_v = given.w_o = integers;
        given.scales_q = given.scales_k = given.scales_v = given.scales_o = scales;
        struct headwise_mha_config same = given;
        same.weight_dtype = HEADWISE_F32;
        same.w_q = same.w_k = same.w_v = same.w_o = weights;
        expect_same_layers(isa, &rng, &given, &same, 9);
        headwise_context *context = call_context(isa, 1);
        headwise_mha *mha = layer_create(context, &given);
        assert_int_equal(headwise_mha_weights(mha, read, NULL, NULL, HEADWISE_MHA_O, given.layout),
                         HEADWISE_OK);
        compare_same_bits(read, weights, N, "read back");
        assert_int_equal(
            headwise_mha_weights(mha, NULL, NULL, read, HEADWISE_MHA_V, HEADWISE_OUT_IN),
            HEADWISE_OK);
        compare_same_bits(read, scales, D, "scales");
        headwise_mha_destroy(mha);
        headwise_context_destroy(context);
        guard_reset();
    }
}

/* Rows of zeros have a scale too, and weights near both ends of f32 come back as they were. */
static void extreme_weights_fit_i8(enum headwise_isa isa) {
    enum { D = 4 };
    static const float extremes[D] = {0, 0x1p-140f, 0x1.fffffep127f, 127};
    float weights[D * D], read[D * D];
    for (int i = 0; i < D * D; i++)
        weights[i] = i % D == 0 ? extremes[i / D] : 0;
    const struct headwise_mha_config config = {.size = sizeof config,
                                               .d_model = D,
                                               .n_heads = 1,
                                               .w_q = weights,
                                               .w_k = weights,
                                               .w_v = weights,
                                               .w_o = weights,
                                               .packed_dtype = HEADWISE_I8};
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    assert_int_equal(headwise_mha_weights(mha, read, NULL, NULL, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                     HEADWISE_OK);
    assert_true(read[0] == 0);
    assert_true(fabsf(read[D] - extremes[1]) <= 0x1p-127f);
    assert_true(isfinite(read[2 * D]) && read[2 * D] >= 0x1.fep127f);
    assert_true(read[3 * D] == 127);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

static void bytes_are_those_of_the_type(enum headwise_isa isa) {
    const size_t weights = 4 * 64 * 64, scales = 4 * 64 * sizeof(float);
    const size_t want[] = {4 * weights, 2 * weights, 2 * weights, weights + scales};
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    struct test_rng rng = test_rng_make(947);
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(types); i++) {
        struct headwise_mha_config config = {.d_model = 64, .n_heads = 4, .packed_dtype = types[i]};
        layer_fill_weights(&rng, &config, true);
        headwise_mha *mha = layer_create(context, &config);
        assert_int_equal(headwise_mha_describe(mha)->weight_bytes, want[i]);
        headwise_mha_destroy(mha);
    }
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(weights_are_rounded_as_said),
        TEST_CASE(halves_have_the_bits_of_the_f32_layer),
        TEST_CASE(what_is_read_back_gives_the_same_layer),
        TEST_CASE(rows_do_not_matter),
        TEST_CASE(within_the_bound_of_the_kept_weights),
        TEST_CASE(integers_may_be_given),
        TEST_CASE(extreme_weights_fit_i8),
        TEST_CASE(bytes_are_those_of_the_type),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
