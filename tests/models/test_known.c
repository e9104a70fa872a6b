/* Numbers known by hand: how fused matrices divide (the projections show as keys, values and
 * scores), which way a matrix lies, rotary positions, slopes; and models given as single files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

/* What a layer makes of x: keys and values, and scores, as the layer itself uses them. */
struct seen {
    float k[16], v[16], scores[16], y[16];
};

static struct seen look(enum headwise_isa isa, const char *path,
                        const struct headwise_checkpoint_options *given, const float *x,
                        int64_t rows) {
    struct seen seen = {{0}, {0}, {0}, {0}};
    headwise_context *context = call_context(isa, 1);
    headwise_checkpoint *model = models_open(path, given);
    headwise_checkpoint_layer *layer = models_layer(model, context, NULL, 0);
    const headwise_mha *mha = headwise_checkpoint_layer_mha(layer);
    struct headwise_attention_options options = *headwise_checkpoint_layer_options(layer);
    int64_t n_kv = headwise_mha_describe(mha)->n_kv_heads,
            dim = headwise_mha_describe(mha)->head_dim;
    assert_true(n_kv * rows * dim <= 16 && headwise_mha_describe(mha)->n_heads * rows * rows <= 16);
    struct headwise_tensor past = headwise_tensor_bhrc(NULL, HEADWISE_F32, 1, n_kv, 0, dim);
    struct headwise_tensor k = headwise_tensor_bhrc(seen.k, HEADWISE_F32, 1, n_kv, rows, dim);
    struct headwise_tensor v = headwise_tensor_bhrc(seen.v, HEADWISE_F32, 1, n_kv, rows, dim);
    struct headwise_probe probe = {.size = sizeof(probe), .scores = seen.scores};
    options.scale_is_set = true;
    options.scale = 1;
    const struct headwise_attention_call call = {.size = sizeof(call),
                                                 .options = &options,
                                                 .past_key = &past,
                                                 .past_value = &past,
                                                 .present_key = &k,
                                                 .present_value = &v,
                                                 .probe = &probe};
    float *y = models_run(context, layer, x, 1, rows, NULL, 0, &call);
    memcpy(seen.y, y, (size_t)(rows * headwise_mha_describe(mha)->d_out) * sizeof(*y));
    headwise_checkpoint_layer_destroy(layer);
    headwise_checkpoint_close(model);
    headwise_context_destroy(context);
    return seen;
}

static struct seen look_at(enum headwise_isa isa, const char *folder, const float *x,
                           int64_t rows) {
    return look(isa, models_checkpoint(folder), NULL, x, rows);
}

/* q from the score of one row: q.k = q k where the head size is 1. */
static void expect_split(const char *what, const struct seen *seen, int n_heads, int n_kv_heads,
                         const float *q, const float *k, const float *v) {
    for (int g = 0; g < n_kv_heads; g++) {
        compare_expect((double)seen->k[g], (double)k[g], 0, "%s: k of head %d", what, g);
        compare_expect((double)seen->v[g], (double)v[g], 0, "%s: v of head %d", what, g);
    }
    for (int h = 0; h < n_heads; h++) {
        int g = h / (n_heads / n_kv_heads);
        compare_expect((double)seen->scores[h], (double)(q[h] * k[g]), 0, "%s: score of head %d",
                       what, h);
        compare_expect((double)seen->y[h], (double)v[g], 0, "%s: y of head %d", what, h);
    }
}

static void test_conv1d(enum headwise_isa isa) {
    const float x[2] = {1, 10};
    struct seen conv = look_at(isa, "known_conv1d", x, 1);
    expect_split("Conv1D", &conv, 2, 2, (float[]){71, 82}, (float[]){93, 104}, (float[]){115, 126});
    struct seen linear = look_at(isa, "known_linear", x, 1);
    expect_split("Linear", &linear, 2, 2, (float[]){21, 43}, (float[]){65, 87},
                 (float[]){109, 131});
    struct seen proj = look_at(isa, "known_conv1d_proj", x, 1);
    assert_true(proj.y[0] == 31 && proj.y[1] == 42);
    proj = look_at(isa, "known_linear_proj", x, 1);
    assert_true(proj.y[0] == 21 && proj.y[1] == 43);
}

static void test_fused(enum headwise_isa isa) {
    const float x[4] = {1, 0, 0, 0};
    struct seen seen = look_at(isa, "known_neox", x, 1);
    expect_split("GPT-NeoX", &seen, 2, 2, (float[]){1, 4}, (float[]){2, 5}, (float[]){3, 6});
    seen = look_at(isa, "known_bloom", x, 1);
    expect_split("Bloom", &seen, 2, 2, (float[]){1, 4}, (float[]){2, 5}, (float[]){3, 6});
    seen = look_at(isa, "known_phi3", x, 1);
    expect_split("plain", &seen, 2, 2, (float[]){1, 2}, (float[]){3, 4}, (float[]){5, 6});
    seen = look_at(isa, "known_falcon_40b", x, 1);
    expect_split("groups", &seen, 4, 2, (float[]){1, 2, 5, 6}, (float[]){3, 7}, (float[]){4, 8});
    seen = look_at(isa, "known_falcon_7b", x, 1);
    expect_split("multi-query", &seen, 4, 1, (float[]){1, 2, 3, 4}, (float[]){5}, (float[]){6});
}

/* Keys of x = (1, 2, 3, 4) at positions 0, 1, 3. */
static void test_rotary(enum headwise_isa isa) {
    static const double half[2][4] = {{-1.984111, 1.959901, 2.462378, 4.0198},
                                      {-1.413353, 1.879118, -2.828857, 4.058191}};
    static const double interleaved[2][4] = {{-1.14264, 1.922076, 2.959851, 4.0298},
                                             {-1.272233, -1.838865, 2.878668, 4.088187}};
    static const double partial[4] = {-1.14264, 1.922076, 3, 4};
    float x[16];
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i % 4 + 1);
    struct headwise_checkpoint_options options = {.size = sizeof(options),
                                                  .rotary = HEADWISE_CHECKPOINT_ROTARY_INTERLEAVED};
    struct seen a = look_at(isa, "known_half", x, 4);
    struct seen b = look_at(isa, "known_interleaved", x, 4);
    struct seen c = look_at(isa, "known_partial", x, 4);
    struct seen d = look(isa, models_checkpoint("known_half"), &options, x, 4);
    options.rotary = HEADWISE_CHECKPOINT_ROTARY_HALF;
    struct seen e = look(isa, models_checkpoint("known_interleaved"), &options, x, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(a.k[i] == x[i] && b.k[i] == x[i] && a.v[4 + i] == x[i]);
        compare_expect((double)a.k[4 + i], half[0][i], 1e-6, "half, position 1");
        compare_expect((double)a.k[12 + i], half[1][i], 1e-6, "half, position 3");
        compare_expect((double)b.k[4 + i], interleaved[0][i], 1e-6, "interleaved, position 1");
        compare_expect((double)b.k[12 + i], interleaved[1][i], 1e-6, "interleaved, position 3");
        compare_expect((double)c.k[4 + i], partial[i], 1e-6, "partial, position 1");
        assert_true(d.k[4 + i] == b.k[4 + i] && e.k[4 + i] == a.k[4 + i]);
    }
}

static void expect_slopes(headwise_context *context, const char *folder, double factor,
                          const double *want, int n) {
    headwise_checkpoint *model = models_open(models_checkpoint(folder), NULL);
    headwise_checkpoint_layer *layer = models_layer(model, context, NULL, 0);
    const struct headwise_attention_options *options = headwise_checkpoint_layer_options(layer);
    assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->n_heads, n);
    assert_non_null(options->alibi_slopes);
    assert_int_equal(options->causal, HEADWISE_CAUSAL_BOTTOM_RIGHT);
    for (int h = 0; h < n; h++)
        compare_expect((double)options->alibi_slopes[h], factor * want[h], 0, "%s: slope %d",
                       folder, h);
    headwise_checkpoint_layer_destroy(layer);
    headwise_checkpoint_close(model);
}

/* Bloom's slopes are the series; Falcon's, which come before the scale, are halved at d = 4. */
static void test_slopes(enum headwise_isa isa) {
    static const double six[6] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
    headwise_context *context = call_context(isa, 1);
    expect_slopes(context, "bloom", 1, six, 6);
    expect_slopes(context, "falcon_rw", 0.5, six, 4);
    headwise_context_destroy(context);
}

/* One file by its name: config.json beside it counts, unless "" says that there is none. */
static void test_single_file(enum headwise_isa isa) {
    const float x[4] = {1, 2, 3, 4};
    const char *path = models_checkpoint("known_half/model.safetensors");
    struct headwise_checkpoint_options options = {.size = sizeof(options), .config = ""};
    headwise_context *context = call_context(isa, 1);
    struct seen folder = look_at(isa, "known_half", x, 1);
    struct seen file = look(isa, path, NULL, x, 1);
    compare_same_bits(file.k, folder.k, 4, "single file");
    headwise_checkpoint *model = models_open(path, &options);
    headwise_checkpoint_layer *layer = NULL;
    assert_string_equal(headwise_checkpoint_family(model), "llama");
    assert_int_equal(headwise_checkpoint_n_layers(model, NULL), 1);
    assert_int_equal(headwise_checkpoint_layer_create(&layer, model, context, NULL, 0),
                     HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "option n_heads"));
    headwise_checkpoint_close(model);
    options.n_heads = 2;
    model = models_open(path, &options);
    assert_int_equal(headwise_checkpoint_layer_create(&layer, model, context, NULL, 0),
                     HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "rope_theta"));
    headwise_checkpoint_close(model);
    options.overrides = "{\"rope_theta\": 10000}";
    options.n_heads = 1;
    file = look(isa, path, &options, x, 1);
    compare_same_bits(file.k, folder.k, 4, "options instead of config.json");
    options = (struct headwise_checkpoint_options){
        .size = sizeof(options), .config = models_checkpoint("bad_heads/config.json")};
    model = models_open(path, &options);
    assert_int_equal(headwise_checkpoint_layer_create(&layer, model, context, NULL, 0),
                     HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "7 heads"));
    headwise_checkpoint_close(model);
    headwise_context_destroy(context);
}

/* Tensors and numbers of the rest of a model. */
static void test_access(enum headwise_isa isa) {
    (void)isa;
    headwise_checkpoint *model = models_open(models_checkpoint("llama_shards"), NULL);
    const char *name = "model.layers.1.self_attn.k_proj.weight";
    float values[8 * 16] = {77};
    int64_t n = 0;
    double eps = 0;
    assert_non_null(headwise_checkpoint_tensor(model, name));
    assert_null(headwise_checkpoint_tensor(model, "model.norm.weight"));
    assert_int_equal(headwise_checkpoint_read_f32(values, model, name, 2, (int64_t[]){16, 8}),
                     HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "shape [8, 16], expected [16, 8]"));
    assert_true(values[0] == 77);
    assert_int_equal(headwise_checkpoint_read_f32(values, model, name, 2, (int64_t[]){8, 16}), 0);
    assert_true(values[0] != 77 && fabsf(values[0]) <= 0.5f);
    assert_int_equal(headwise_checkpoint_integer(model, "n_layer|num_hidden_layers", &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(headwise_checkpoint_number(model, "rms_norm_eps", &eps), 0);
    assert_true(eps == 1e-5);
    assert_int_equal(headwise_checkpoint_number(model, "norm_eps", &eps), HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "norm_eps is missing"));
    assert_int_equal(headwise_checkpoint_integer(model, "rms_norm_eps", &n), HEADWISE_ERR_FORMAT);
    assert_int_equal(n, 2);
    headwise_checkpoint_close(model);
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(test_conv1d), TEST_CASE(test_fused),       TEST_CASE(test_rotary),
        TEST_CASE(test_slopes), TEST_CASE(test_single_file), TEST_CASE(test_access),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
