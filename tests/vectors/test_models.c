/* Layers of trained models: stored inputs and weights to stored outputs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "vector_file.h"

/* A layer whose W_Q, W_K, W_V are the thirds of one [3 d, d] matrix. */
struct fused {
    const char *weights_file, *weights, *weights_bias, *out, *out_bias;
    const char *data_file, *input, *output, *probs;
    int64_t heads, width, batch, rows;
    enum headwise_causal causal;
};

#define NANO(layer)                                                                                \
    {                                                                                              \
        "gpt_nano_sort/model.safetensors", "transformer.h." layer ".attn.c_attn.weight", NULL,     \
            "transformer.h." layer ".attn.c_proj.weight",                                          \
            "transformer.h." layer ".attn.c_proj.bias",                                            \
            "gpt_nano_sort/reference_activations.safetensors", "h." layer ".attn.input",           \
            "h." layer ".attn.output", "h." layer ".attn.probs", 3, 48, 3, 11,                     \
            HEADWISE_CAUSAL_TOP_LEFT                                                               \
    }
#define SVTR(block)                                                                                \
    {                                                                                              \
        "ppocr_svtr/svtr_attention_weights.safetensors", "svtr_block." block ".mixer.qkv.weight",  \
            "svtr_block." block ".mixer.qkv.bias", "svtr_block." block ".mixer.proj.weight",       \
            "svtr_block." block ".mixer.proj.bias",                                                \
            "ppocr_svtr/ppocr_svtr_w320_block" block ".safetensors", "layer_input",                \
            "layer_output", "qk_matmul_output", 8, 120, 1, 40, HEADWISE_CAUSAL_NONE                \
    }

static const struct fused nano[] = {NANO("0"), NANO("1"), NANO("2")};
static const struct fused svtr[] = {SVTR("0"), SVTR("1")};

/* The model file of gpt_nano_sort lacks the bias of c_attn, its activations have it: what the
 * stored q, k, v of the first token have beyond W x, to half an ulp of f32 (far below the bounds,
 * which count 49 roundings). All other tokens are then a check. */
static float *recovered_bias(const headwise_safetensors *data, const struct fused *f,
                             const float *w, const float *x) {
    const char *const names[] = {"q", "k", "v"};
    int64_t d = f->width, dim = d / f->heads;
    float *b = guard_floats((size_t)(3 * d));
    for (int64_t o = 0; o < 3 * d; o++) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s%s", (int)(strlen(f->input) - strlen("input")), f->input,
                 names[o / d]);
        const float *stored = vector_f32(data, name, f->batch * f->rows * d);
        double sum = 0;
        for (int64_t t = 0; t < d; t++)
            sum += (double)w[o * d + t] * (double)x[t];
        b[o] = (float)((double)stored[o % d / dim * f->rows * dim + o % dim] - sum);
    }
    return b;
}

/* Stored outputs are a float64 forward pass of the whole network, rounded; the stored input was
 * rounded too, so they are off by the oracle's bound at most once more. */
static void expect_near(const float *got, const double *exact, const double *bound,
                        const float *stored, int64_t n, const char *what) {
    for (int64_t i = 0; i < n; i++) {
        compare_expect((double)got[i], exact[i], bound[i], "%s, element %lld, oracle", what,
                       (long long)i);
        compare_expect((double)got[i], (double)stored[i],
                       2 * bound[i] + bound_rounding(HEADWISE_F32, (double)stored[i]),
                       "%s, element %lld", what, (long long)i);
    }
}

static void run_fused(enum headwise_isa isa, const struct fused *f) {
    headwise_safetensors *model = vector_open(f->weights_file), *data = vector_open(f->data_file);
    int64_t d = f->width, n = f->batch * f->rows * d, map = f->batch * f->heads * f->rows * f->rows;
    const float *w = vector_f32(model, f->weights, 3 * d * d);
    float *input = vector_f32(data, f->input, n);
    const float *b = f->weights_bias != NULL ? vector_f32(model, f->weights_bias, 3 * d)
                                             : recovered_bias(data, f, w, input);
    struct headwise_mha_config config = {.size = sizeof(config),
                                         .d_model = d,
                                         .n_heads = f->heads,
                                         .layout = HEADWISE_OUT_IN,
                                         .w_q = w,
                                         .w_k = w + d * d,
                                         .w_v = w + 2 * d * d,
                                         .w_o = vector_f32(model, f->out, d * d),
                                         .b_q = b,
                                         .b_k = b + d,
                                         .b_v = b + 2 * d,
                                         .b_o = vector_f32(model, f->out_bias, d)};
    struct headwise_tensor x = headwise_tensor_brhc(input, HEADWISE_F32, f->batch, f->rows, 1, d);
    struct headwise_tensor y =
        headwise_tensor_brhc(guard_floats((size_t)n), HEADWISE_F32, f->batch, f->rows, 1, d);
    struct headwise_probe probe = {.size = sizeof(probe), .weights = guard_floats((size_t)map)};
    const struct headwise_attention_options causal = {.size = sizeof(causal), .causal = f->causal};
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &y, .x = &x, .options = &causal, .probe = &probe};
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa, .n_threads = 2};
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    assert_int_equal(headwise_mha_forward(context, mha, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    struct oracle_result *result = oracle_layer(&config, &call);
    expect_near(y.data, result->out, result->out_bound, vector_f32(data, f->output, n), n,
                "output");
    expect_near(probe.weights, result->weights, result->weights_bound,
                vector_f32(data, f->probs, map), map, "weights");
    headwise_safetensors_close(model);
    headwise_safetensors_close(data);
}

static void gpt_nano_sort_layers(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(nano); i++)
        run_fused(isa, &nano[i]);
}

static void ppocr_svtr_layers(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(svtr); i++)
        run_fused(isa, &svtr[i]);
}

/* A layer of the small Llama: 8 query heads on 4 kv heads of 8 components, 40 tokens, rotary. */
enum { LLAMA_D = 64, LLAMA_HEADS = 8, LLAMA_KV = 4, LLAMA_DIM = 8, LLAMA_ROWS = 40 };

static const float *llama_array(const headwise_safetensors *file, int layer, const char *what,
                                int64_t n) {
    char name[96];
    snprintf(name, sizeof(name), what, layer);
    return vector_f32(file, name, n);
}

/* The largest sum of |x| |w| over the inputs of one component of a key. */
static double largest_magnitude(const float *x, const float *w) {
    double largest = 0;
    for (int64_t r = 0; r < LLAMA_ROWS; r++)
        for (int64_t c = 0; c < LLAMA_KV * LLAMA_DIM; c++) {
            double sum = 0;
            for (int64_t t = 0; t < LLAMA_D; t++)
                sum += fabs((double)x[r * LLAMA_D + t] * (double)w[c * LLAMA_D + t]);
            largest = fmax(largest, sum);
        }
    return largest;
}

/* A key is two such sums of 64 terms, turned: 64 roundings, at most 4 more to turn, and those of
 * the stored input, angle and key. */
static void expect_keys(const float *got, const float *stored, double magnitude) {
    for (int64_t i = 0; i < LLAMA_KV * LLAMA_ROWS * LLAMA_DIM; i++)
        compare_expect((double)got[i], (double)stored[i], bound_gamma(64 + 4 + 3) * 2 * magnitude,
                       "rotated key, element %d", (int)i);
}

static void run_llama(headwise_context *context, const headwise_safetensors *model,
                      const headwise_rotary *rotary, int layer) {
    headwise_safetensors *data = vector_open("stories260K/reference_activations.safetensors");
    const int64_t n = LLAMA_ROWS * LLAMA_D, keys = LLAMA_KV * LLAMA_ROWS * LLAMA_DIM;
    const int64_t map = LLAMA_HEADS * LLAMA_ROWS * LLAMA_ROWS, half = LLAMA_D * LLAMA_D / 2;
    struct headwise_mha_config config = {
        .size = sizeof(config),
        .d_model = LLAMA_D,
        .n_heads = LLAMA_HEADS,
        .n_kv_heads = LLAMA_KV,
        .w_q = llama_array(model, layer, "model.layers.%d.self_attn.q_proj.weight", 2 * half),
        .w_k = llama_array(model, layer, "model.layers.%d.self_attn.k_proj.weight", half),
        .w_v = llama_array(model, layer, "model.layers.%d.self_attn.v_proj.weight", half),
        .w_o = llama_array(model, layer, "model.layers.%d.self_attn.o_proj.weight", 2 * half),
        .rotary = rotary};
    struct headwise_tensor x =
        headwise_tensor_brhc(llama_array(data, layer, "layers.%d.self_attn.input", n), HEADWISE_F32,
                             1, LLAMA_ROWS, 1, LLAMA_D);
    struct headwise_tensor y = x,
                           key = headwise_tensor_bhrc(guard_floats((size_t)keys), HEADWISE_F32, 1,
                                                      LLAMA_KV, LLAMA_ROWS, LLAMA_DIM);
    y.data = guard_floats((size_t)n);
    struct headwise_probe probe = {.size = sizeof(probe), .weights = guard_floats((size_t)map)};
    const struct headwise_attention_options causal = {.size = sizeof(causal),
                                                      .causal = HEADWISE_CAUSAL_TOP_LEFT};
    const struct headwise_attention_call call = {.size = sizeof(call),
                                                 .y = &y,
                                                 .x = &x,
                                                 .options = &causal,
                                                 .present_key = &key,
                                                 .probe = &probe};
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    assert_int_equal(headwise_mha_forward(context, mha, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    struct oracle_result *result = oracle_layer(&config, &call);
    expect_near(y.data, result->out, result->out_bound,
                llama_array(data, layer, "layers.%d.self_attn.output", n), n, "output");
    expect_near(probe.weights, result->weights, result->weights_bound,
                llama_array(data, layer, "layers.%d.self_attn.probs", map), map, "weights");
    if (headwise_rotary_describe(rotary)->pairs ==
        HEADWISE_PAIRS_HALF) /* the order they are stored in */
        expect_keys(key.data, llama_array(data, layer, "layers.%d.self_attn.k_rope", keys),
                    largest_magnitude(x.data, config.w_k));
    headwise_safetensors_close(data);
}

static void run_llama_layers(enum headwise_isa isa, const char *path, enum headwise_pairs pairs) {
    const struct headwise_rotary_config config = {
        .size = sizeof(config), .rotary_dim = LLAMA_DIM, .pairs = pairs, .n_positions = LLAMA_ROWS};
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa, .n_threads = 2};
    headwise_context *context = NULL;
    headwise_rotary *rotary = NULL;
    headwise_safetensors *model = vector_open(path);
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    assert_int_equal(headwise_rotary_create(&rotary, context, &config), HEADWISE_OK);
    for (int layer = 0; layer < 5; layer++)
        run_llama(context, model, rotary, layer);
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
    headwise_safetensors_close(model);
}

static void stories_layers(enum headwise_isa isa) {
    run_llama_layers(isa, "stories260K/model.safetensors", HEADWISE_PAIRS_HALF);
}

static void stories_layers_interleaved(enum headwise_isa isa) {
    run_llama_layers(isa, "stories260K/model_interleaved.safetensors", HEADWISE_PAIRS_INTERLEAVED);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(gpt_nano_sort_layers), TEST_CASE(ppocr_svtr_layers),
                                      TEST_CASE(stories_layers),
                                      TEST_CASE(stories_layers_interleaved)};
    return vector_run(cases, TEST_COUNT(cases));
}
