/* Weights that a layer cannot keep: a status, a line that names the weight, and no layer. */
#include <math.h>
#include <string.h>

#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { D = 12 };

/* A layer of 3 heads, its weights and scales in memory that may be written. */
struct scene {
    struct headwise_mha_config config;
    float weights[4][D * D];
    int8_t integers[D * D];
    float scales[4][D];
};

static void use_f32(struct scene *scene, enum headwise_dtype packed_dtype) {
    scene->config.weight_dtype = HEADWISE_F32;
    scene->config.packed_dtype = packed_dtype;
    scene->config.w_q = scene->weights[0];
    scene->config.w_k = scene->weights[1];
    scene->config.w_v = scene->weights[2];
    scene->config.w_o = scene->weights[3];
    scene->config.scales_q = scene->config.scales_k = NULL;
    scene->config.scales_v = scene->config.scales_o = NULL;
}

static void use_scales(struct scene *scene) {
    scene->config.scales_q = scene->scales[0];
    scene->config.scales_k = scene->scales[1];
    scene->config.scales_v = scene->scales[2];
    scene->config.scales_o = scene->scales[3];
}

static void use_integers(struct scene *scene) {
    use_f32(scene, HEADWISE_I8);
    scene->config.weight_dtype = HEADWISE_I8;
    scene->config.w_q = scene->config.w_k = scene->config.w_v = scene->config.w_o = scene->integers;
    use_scales(scene);
}

typedef void spoil_fn(struct scene *scene);

static void bool_layer(struct scene *scene) {
    scene->config.packed_dtype = HEADWISE_BOOL;
}
static void unknown_type(struct scene *scene) {
    scene->config.packed_dtype = (enum headwise_dtype)17;
}
static void large_f16(struct scene *scene) {
    use_f32(scene, HEADWISE_F16);
    scene->weights[1][3 * D + 7] = 65520; /* W_K, output 3, input 7 */
}
static void large_f16_in_out(struct scene *scene) {
    use_f32(scene, HEADWISE_F16);
    scene->config.layout = HEADWISE_IN_OUT;
    scene->weights[1][7 * D + 3] = -1e30f;
}
static void large_bf16(struct scene *scene) {
    use_f32(scene, HEADWISE_BF16);
    scene->weights[3][11 * D] = 0x1.ffp127f;
}
static void infinite_i8(struct scene *scene) {
    use_f32(scene, HEADWISE_I8);
    scene->weights[2][D] = INFINITY;
}
static void nan_i8(struct scene *scene) {
    use_f32(scene, HEADWISE_I8);
    scene->weights[0][0] = NAN;
}
static void weight_beyond_its_scale(struct scene *scene) {
    use_f32(scene, HEADWISE_I8);
    use_scales(scene);
    scene->weights[0][5] = 127.5f * scene->scales[0][0];
}
static void integers_in_f32(struct scene *scene) {
    use_integers(scene);
    scene->config.packed_dtype = HEADWISE_F32;
}
static void no_scales(struct scene *scene) {
    use_integers(scene);
    scene->config.scales_v = NULL;
}
static void scales_without_integers(struct scene *scene) {
    use_f32(scene, HEADWISE_F16);
    use_scales(scene);
}
static void zero_scale(struct scene *scene) {
    use_integers(scene);
    scene->scales[1][2] = 0;
}
static void negative_scale(struct scene *scene) {
    use_integers(scene);
    scene->scales[3][11] = -1;
}
static void infinite_scale(struct scene *scene) {
    use_integers(scene);
    scene->scales[0][1] = INFINITY;
}
static void nan_scale(struct scene *scene) {
    use_integers(scene);
    scene->scales[2][0] = NAN;
}

static void dynamic_f16(struct scene *scene) {
    use_f32(scene, HEADWISE_F16);
    scene->config.dynamic_int8 = true;
}
static void dynamic_of_many_inputs(struct scene *scene) {
    use_f32(scene, HEADWISE_I8);
    scene->config.dynamic_int8 = true;
    scene->config.d_model = 65537;
    scene->config.n_heads = scene->config.head_dim = 1;
}

static const struct {
    const char *name;
    spoil_fn *spoil;
    const char *text;
} spoils[] = {
    {"bool layer", bool_layer, "mha: packed_dtype is bool, expected f32, f16, bf16 or i8"},
    {"unknown type", unknown_type, "mha: packed_dtype is ?, expected f32, f16, bf16 or i8"},
    {"large f16", large_f16,
     "mha: w_k: the weight of input 7 in output 3 is 65520, which f16 cannot hold"},
    {"large f16, in x out", large_f16_in_out,
     "mha: w_k: the weight of input 7 in output 3 is -1e+30, which f16 cannot hold"},
    {"large bf16", large_bf16,
     "mha: w_o: the weight of input 0 in output 11 is 3.39618e+38, which bf16 cannot hold"},
    {"infinite i8", infinite_i8,
     "mha: w_v: the weight of input 0 in output 1 is inf, which i8 cannot hold"},
    {"nan i8", nan_i8, "mha: w_q: the weight of input 0 in output 0 is nan, which i8 cannot hold"},
    {"beyond its scale", weight_beyond_its_scale,
     "mha: w_q: the weight of input 5 in output 0 is 63.75, which i8 cannot hold with the scale "
     "given"},
    {"integers in f32", integers_in_f32,
     "mha: weights are i8, but packed_dtype is f32, expected i8"},
    {"no scales", no_scales, "mha: scales_v is NULL, but weights are i8"},
    {"scales without integers", scales_without_integers,
     "mha: scales_q is given, but packed_dtype is f16, expected i8"},
    {"zero scale", zero_scale, "mha: scales_k[2] is 0, expected a positive finite number"},
    {"negative scale", negative_scale,
     "mha: scales_o[11] is -1, expected a positive finite number"},
    {"infinite scale", infinite_scale,
     "mha: scales_q[1] is inf, expected a positive finite number"},
    {"dynamic f16", dynamic_f16, "mha: dynamic_int8 is set, but packed_dtype is f16, expected i8"},
    {"dynamic of many inputs", dynamic_of_many_inputs,
     "mha: dynamic_int8 is set, but a matrix has 65537 inputs, expected at most 65536"},
    {"nan scale", nan_scale, "mha: scales_v[0] is nan, expected a positive finite number"},
};

static void make_scene(struct scene *scene) {
    *scene = (struct scene){.config = {.size = sizeof scene->config, .d_model = D, .n_heads = 3}};
    for (int i = 0; i < 4 * D * D; i++)
        scene->weights[i / (D * D)][i % (D * D)] = (float)(i % 7) - 3;
    for (int i = 0; i < D * D; i++)
        scene->integers[i] = (int8_t)(i - 70);
    for (int i = 0; i < 4 * D; i++)
        scene->scales[i / D][i % D] = 0.5f;
    use_f32(scene, HEADWISE_F32);
}

static void weights_that_do_not_fit_are_refused(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    headwise_mha *const unchanged = (headwise_mha *)&context;
    for (size_t i = 0; i < TEST_COUNT(spoils); i++) {
        struct scene scene;
        headwise_mha *mha = unchanged;
        make_scene(&scene);
        spoils[i].spoil(&scene);
        if (headwise_mha_create(&mha, context, &scene.config) != HEADWISE_ERR_INVALID)
            fail_msg("%s: not refused", spoils[i].name);
        assert_ptr_equal(mha, unchanged);
        if (strcmp(headwise_last_error(), spoils[i].text) != 0)
            fail_msg("%s: \"%s\"", spoils[i].name, headwise_last_error());
    }
    headwise_context_destroy(context);
}

/* What is nearest to each refusal and fits. */
static void weights_that_just_fit_are_kept(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (int i = 0; i < 4; i++) {
        struct scene scene;
        headwise_mha *mha;
        make_scene(&scene);
        if (i == 0) {
            use_f32(&scene, HEADWISE_F16);
            scene.weights[1][5] = 65519;
            scene.weights[2][5] = INFINITY; /* is itself in f16 */
        } else if (i == 1) {
            use_f32(&scene, HEADWISE_BF16);
            scene.weights[1][5] = 0x1.fe8p127f;
        } else if (i == 2) {
            use_f32(&scene, HEADWISE_I8);
            use_scales(&scene);
            scene.weights[0][5] = 127.4f * scene.scales[0][0];
            scene.weights[0][6] = -128.0f * scene.scales[0][0];
        } else {
            use_integers(&scene);
        }
        mha = layer_create(context, &scene.config);
        headwise_mha_destroy(mha);
    }
    headwise_context_destroy(context);
}

static void scales_of_nothing(enum headwise_isa isa) {
    float scales[D];
    struct scene scene;
    headwise_context *context = call_context(isa, 1);
    make_scene(&scene);
    headwise_mha *mha = layer_create(context, &scene.config);
    assert_int_equal(
        headwise_mha_weights(NULL, NULL, NULL, scales, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
        HEADWISE_ERR_INVALID);
    assert_int_equal(
        headwise_mha_weights(mha, NULL, NULL, scales, (enum headwise_mha_part)4, HEADWISE_OUT_IN),
        HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_mha_weights(mha, NULL, NULL, scales, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                     HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_last_error(),
                        "mha_weights: the layer's weights are f32, only i8 has scales");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(weights_that_do_not_fit_are_refused),
        TEST_CASE(weights_that_just_fit_are_kept),
        TEST_CASE(scales_of_nothing),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
