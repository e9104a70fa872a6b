/* Decoders in the form of Llama, run without a cache: RMS norms before attention and MLP, a gate,
 * rotary positions; and what Gemma, Granite, Phi 3 and StableLM make of it. */
#include <math.h>

#include "families/families.h"
#include "families/settings.h"

#define HEADS(array) .heads = array, .n_heads = sizeof array / sizeof *array

static const struct headwise_head_form heads[] = {
    {.mark = "/score.weight",
     .rows = HEADWISE_HEAD_LAST,
     .steps = {{.linear = "/score"}},
     .n_steps = 1,
     .gives_logits = true},
    {.mark = "/lm_head.weight",
     .steps = {{.linear = "/lm_head"}},
     .n_steps = 1,
     .gives_logits = true},
    {.architecture = "CausalLM",
     .steps = {{.linear = "/lm_head", .tied = "embed_tokens"}},
     .n_steps = 1,
     .gives_logits = true},
};

/* A row is easier to read in lines than in columns. */
/* clang-format off */
#define GATED                                                                                      \
    .gating = HEADWISE_GATE_APART, .up = "mlp.up_proj", .gate = "mlp.gate_proj",                   \
    .down = "mlp.down_proj", .activation = HEADWISE_ACTIVATION_SILU
#define PRE_NORM .attention_in = "input_layernorm", .mlp_in = "post_attention_layernorm"
/* Gemma 2 and 3: norms around attention and MLP. */
#define AROUND                                                                                     \
    .attention_in = "input_layernorm", .attention_out = "post_attention_layernorm",                \
    .mlp_in = "pre_feedforward_layernorm", .mlp_out = "post_feedforward_layernorm"
#define FORM(norm_form, ...)                                                                       \
    {.is_rotary = true, .norm = norm_form, .embeddings = {.word = "embed_tokens", .pad_id = -1},   \
     .block = {__VA_ARGS__}, .last_norm = "norm", .last_hidden_is_normed = true}
#define RMS                                                                                        \
    {.norm = HEADWISE_NORM_RMS, .eps = 1e-6}
#define RMS_ONE                                                                                    \
    {.norm = HEADWISE_NORM_RMS, .eps = 1e-6, .adds_one = true}
#define LAYER                                                                                      \
    {.norm = HEADWISE_NORM_LAYER, .eps = 1e-5, .has_bias = true}
#define TEXT .prefixes = "model.|", .stem = "layers.{i}.", HEADS(heads), .passed_over = "inv_freq"
/* clang-format on */

static enum headwise_status settle_llama(struct headwise_description *d,
                                         const headwise_checkpoint *checkpoint) {
    enum headwise_status status =
        headwise_setting_bool(d, checkpoint, "mlp_bias", &d->block.up_has_bias);
    d->block.down_has_bias = d->block.up_has_bias;
    return status;
}

/* Embeddings are multiplied by the square root of the width. Gemma's gelu is the one by tanh,
 * whatever the first files say. */
static enum headwise_status settle_gemma(struct headwise_description *d,
                                         const headwise_checkpoint *checkpoint) {
    int64_t width = 1;
    enum headwise_status status = headwise_setting_integer(d, checkpoint, "hidden_size", 1, &width);
    d->embeddings.scale = sqrt((double)width);
    if (d->block.activation == HEADWISE_ACTIVATION_GELU)
        d->block.activation = HEADWISE_ACTIVATION_GELU_TANH;
    if (!status)
        status =
            headwise_setting_number(d, checkpoint, "final_logit_softcapping", &d->logit_softcap);
    if (!status && !(d->logit_softcap >= 0 && d->logit_softcap <= 1e6))
        status = headwise_setting_fail(HEADWISE_ERR_FORMAT, d, checkpoint,
                                       "final_logit_softcapping", "a number from 0 to 1000000");
    return status;
}

/* A multiplier of config.json, which must be above 0. */
static enum headwise_status read_multiplier(const struct headwise_description *d,
                                            const headwise_checkpoint *checkpoint, const char *key,
                                            double *value) {
    enum headwise_status status = headwise_setting_number(d, checkpoint, key, value);
    if (!status && !(*value > 1e-6 && *value < 1e6))
        status = headwise_setting_fail(HEADWISE_ERR_FORMAT, d, checkpoint, key,
                                       "a number between 0.000001 and 1000000");
    return status;
}

static enum headwise_status settle_granite(struct headwise_description *d,
                                           const headwise_checkpoint *checkpoint) {
    double scaling = 1;
    d->embeddings.scale = d->residual_scale = 1;
    enum headwise_status status = settle_llama(d, checkpoint);
    if (!status)
        status = read_multiplier(d, checkpoint, "embedding_multiplier", &d->embeddings.scale);
    if (!status)
        status = read_multiplier(d, checkpoint, "residual_multiplier", &d->residual_scale);
    if (!status)
        status = read_multiplier(d, checkpoint, "logits_scaling", &scaling);
    d->logit_scale = 1 / scaling;
    return status;
}

/* In parallel the MLP reads what attention reads, and has no norm of its own. */
static enum headwise_status settle_stablelm(struct headwise_description *d,
                                            const headwise_checkpoint *checkpoint) {
    enum headwise_status status =
        headwise_setting_bool(d, checkpoint, "use_parallel_residual", &d->block.is_parallel);
    if (d->block.is_parallel)
        d->block.mlp_in = NULL;
    return status;
}

static enum headwise_status settle_starcoder2(struct headwise_description *d,
                                              const headwise_checkpoint *checkpoint) {
    enum headwise_status status =
        headwise_setting_bool(d, checkpoint, "use_bias", &d->block.up_has_bias);
    d->block.down_has_bias = d->block.up_has_bias;
    return status;
}

/* clang-format off */
static const struct headwise_family rows[] = {
    {.name = "llama", .model_types = "llama|mistral|qwen2|qwen3|smollm3", TEXT,
     .form = FORM(RMS, GATED, PRE_NORM), .settle = settle_llama},
    {.name = "gemma", .model_types = "gemma", TEXT, .form = FORM(RMS_ONE, GATED, PRE_NORM),
     .settle = settle_gemma},
    {.name = "gemma2", .model_types = "gemma2|gemma3_text", TEXT,
     .form = FORM(RMS_ONE, GATED, AROUND), .settle = settle_gemma},
    {.name = "granite", .model_types = "granite", TEXT, .form = FORM(RMS, GATED, PRE_NORM),
     .settle = settle_granite},
    {.name = "stablelm", .model_types = "stablelm", TEXT, .form = FORM(LAYER, GATED, PRE_NORM),
     .settle = settle_stablelm},
    {.name = "phi3", .model_types = "phi3", TEXT,
     .form = FORM(RMS, PRE_NORM, .gating = HEADWISE_GATE_UP_JOINED, .up = "mlp.gate_up_proj",
                  .down = "mlp.down_proj", .activation = HEADWISE_ACTIVATION_SILU)},
    {.name = "starcoder2", .model_types = "starcoder2", TEXT,
     .form = FORM(LAYER, PRE_NORM, .up = "mlp.c_fc", .down = "mlp.c_proj", .up_has_bias = true,
                  .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU_TANH),
     .settle = settle_starcoder2},
};
/* clang-format on */

const struct headwise_families headwise_families_llama = {rows, sizeof rows / sizeof *rows};
