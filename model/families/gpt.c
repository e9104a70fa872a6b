/* Decoders with layer norms and a plain MLP, run without a cache: GPT-2, GPT-NeoX, Phi, Falcon,
 * Bloom, OPT. */
#include <string.h>

#include "families/families.h"
#include "families/settings.h"

#define HEADS(array) .heads = array, .n_heads = sizeof array / sizeof *array

/* A row is easier to read in lines than in columns. */
/* clang-format off */
#define SCORE                                                                                      \
    {.mark = "/score.weight", .rows = HEADWISE_HEAD_LAST, .steps = {{.linear = "/score"}},         \
     .n_steps = 1, .gives_logits = true}
#define WORDS(matrix, words)                                                                       \
    {.mark = matrix ".weight", .steps = {{.linear = matrix}}, .n_steps = 1, .gives_logits = true}, \
    {.architecture = "LM", .steps = {{.linear = matrix, .tied = words}}, .n_steps = 1,             \
     .gives_logits = true}
static const struct headwise_head_form gpt2_heads[] = {SCORE, WORDS("/lm_head", "wte")};
static const struct headwise_head_form neox_heads[] = {SCORE, WORDS("/embed_out", "embed_in")};
static const struct headwise_head_form bloom_heads[] = {SCORE,
                                                        WORDS("/lm_head", "word_embeddings")};
static const struct headwise_head_form opt_heads[] = {SCORE,
                                                      WORDS("/lm_head", "decoder.embed_tokens")};
static const struct headwise_head_form phi_heads[] = {
    SCORE,
    {.mark = "/lm_head.weight", .steps = {{.linear = "/lm_head", .has_bias = true}}, .n_steps = 1,
     .gives_logits = true}};
/* clang-format on */

/* Matrices [out][in] under GPT-2's names are minGPT's. */
static enum headwise_status settle_gpt2(struct headwise_description *d,
                                        const headwise_checkpoint *checkpoint) {
    d->block.is_in_out = strcmp(headwise_checkpoint_family(checkpoint), "gpt2") == 0;
    return headwise_setting_must_be(d, checkpoint, "add_cross_attention", false);
}

static enum headwise_status settle_neox(struct headwise_description *d,
                                        const headwise_checkpoint *checkpoint) {
    return headwise_setting_bool(d, checkpoint, "use_parallel_residual", &d->block.is_parallel);
}

/* 7B has one norm for attention and MLP, 40B two, the first ones run in sequence. */
static enum headwise_status settle_falcon(struct headwise_description *d,
                                          const headwise_checkpoint *checkpoint) {
    struct headwise_block_form *block = &d->block;
    bool is_new = false, is_parallel = true, has_bias = false, alibi = false;
    int64_t n_norms = 2;
    enum headwise_status status =
        headwise_setting_bool(d, checkpoint, "new_decoder_architecture", &is_new);
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "parallel_attn", &is_parallel);
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "bias", &has_bias);
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "alibi", &alibi);
    if (!status)
        status = headwise_setting_integer(d, checkpoint, "num_ln_in_parallel_attn", 1, &n_norms);
    block->up_has_bias = block->down_has_bias = has_bias;
    block->is_parallel = is_new || is_parallel;
    d->is_rotary = !alibi;
    if (is_new && n_norms == 2) {
        block->attention_in = "ln_attn";
        block->mlp_in = "ln_mlp";
    } else if (!block->is_parallel) {
        block->mlp_in = "post_attention_layernorm";
    }
    return status;
}

static enum headwise_status settle_bloom(struct headwise_description *d,
                                         const headwise_checkpoint *checkpoint) {
    return headwise_setting_must_be(d, checkpoint, "apply_residual_connection_post_layernorm",
                                    false);
}

static enum headwise_status settle_opt(struct headwise_description *d,
                                       const headwise_checkpoint *checkpoint) {
    int64_t width = 0, words = 0;
    enum headwise_status status =
        headwise_setting_must_be(d, checkpoint, "do_layer_norm_before", true);
    if (!status)
        status = headwise_setting_must_be(d, checkpoint, "_remove_final_layer_norm", false);
    if (!status)
        status = headwise_setting_must_be(d, checkpoint, "layer_norm_elementwise_affine", true);
    if (!status)
        status = headwise_setting_integer(d, checkpoint, "hidden_size", 1, &width);
    words = width;
    if (!status)
        status = headwise_setting_integer(d, checkpoint, "word_embed_proj_dim", 1, &words);
    if (!status && words != width)
        status = headwise_setting_fail(HEADWISE_ERR_UNSUPPORTED, d, checkpoint,
                                       "word_embed_proj_dim", "hidden_size");
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "enable_bias", &d->block.up_has_bias);
    d->block.down_has_bias = d->block.up_has_bias;
    return status;
}

/* clang-format off */
#define NORM(e)                                                                                    \
    { .norm = HEADWISE_NORM_LAYER, .eps = e, .has_bias = true }
#define MLP(first, second, function)                                                               \
    .up = first, .down = second, .up_has_bias = true, .down_has_bias = true,                       \
    .activation = HEADWISE_ACTIVATION_##function

static const struct headwise_family rows[] = {
    {.name = "gpt2", .model_types = "gpt2", .prefixes = "transformer.|", .stem = "h.{i}.",
     .form = {.norm = NORM(1e-5),
              .embeddings = {.word = "wte", .position = "wpe", .pad_id = -1},
              .block = {.attention_in = "ln_1", .mlp_in = "ln_2",
                        MLP("mlp.c_fc", "mlp.c_proj", GELU_TANH)},
              .last_norm = "ln_f", .last_hidden_is_normed = true},
     HEADS(gpt2_heads), .passed_over = "attn.bias|attn.masked_bias", .settle = settle_gpt2},
    {.name = "gpt_neox", .model_types = "gpt_neox", .prefixes = "gpt_neox.|",
     .stem = "layers.{i}.",
     .form = {.is_rotary = true, .norm = NORM(1e-5),
              .embeddings = {.word = "embed_in", .pad_id = -1},
              .block = {.attention_in = "input_layernorm", .mlp_in = "post_attention_layernorm",
                        .is_parallel = true,
                        MLP("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", GELU)},
              .last_norm = "final_layer_norm", .last_hidden_is_normed = true},
     HEADS(neox_heads), .passed_over = "attention.bias|attention.masked_bias|inv_freq",
     .settle = settle_neox},
    {.name = "phi", .model_types = "phi", .prefixes = "model.|", .stem = "layers.{i}.",
     .form = {.is_rotary = true, .norm = NORM(1e-5),
              .embeddings = {.word = "embed_tokens", .pad_id = -1},
              .block = {.attention_in = "input_layernorm", .is_parallel = true,
                        MLP("mlp.fc1", "mlp.fc2", GELU_TANH)},
              .last_norm = "final_layernorm", .last_hidden_is_normed = true},
     HEADS(phi_heads), .passed_over = "inv_freq"},
    {.name = "falcon", .model_types = "falcon|RefinedWeb|RefinedWebModel",
     .prefixes = "transformer.|", .stem = "h.{i}.",
     .form = {.norm = NORM(1e-5), .embeddings = {.word = "word_embeddings", .pad_id = -1},
              .block = {.attention_in = "input_layernorm",
                        MLP("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", GELU)},
              .last_norm = "ln_f", .last_hidden_is_normed = true},
     HEADS(bloom_heads), .passed_over = "inv_freq", .settle = settle_falcon},
    {.name = "bloom", .model_types = "bloom", .prefixes = "transformer.|", .stem = "h.{i}.",
     .form = {.norm = NORM(1e-5),
              .embeddings = {.word = "word_embeddings", .norm = "word_embeddings_layernorm",
                             .pad_id = -1},
              .block = {.attention_in = "input_layernorm", .mlp_in = "post_attention_layernorm",
                        MLP("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", GELU_TANH)},
              .last_norm = "ln_f", .last_hidden_is_normed = true},
     HEADS(bloom_heads), .settle = settle_bloom},
    {.name = "opt", .model_types = "opt", .prefixes = "model.|", .stem = "decoder.layers.{i}.",
     .form = {.norm = NORM(1e-5),
              .embeddings = {.word = "decoder.embed_tokens", .position = "decoder.embed_positions",
                             .position_offset = 2, .pad_id = -1},
              .block = {.attention_in = "self_attn_layer_norm", .mlp_in = "final_layer_norm",
                        MLP("fc1", "fc2", RELU)},
              .last_norm = "decoder.final_layer_norm", .last_hidden_is_normed = true},
     HEADS(opt_heads), .settle = settle_opt},
};
/* clang-format on */

const struct headwise_families headwise_families_gpt = {rows, sizeof rows / sizeof *rows};
