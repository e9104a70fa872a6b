/* Encoders with rotary positions: ModernBERT, NomicBERT. */
#include <string.h>

#include "families/families.h"
#include "families/settings.h"

#define HEADS(array) .heads = array, .n_heads = sizeof array / sizeof *array

/* A row is easier to read in lines than in columns. */
/* clang-format off */
#define MODERN_HEAD                                                                                \
    {.linear = "/head.dense", .activation = HEADWISE_ACTIVATION_GELU, .norm = "/head.norm"}
static const struct headwise_head_form modernbert_heads[] = {
    {.mark = "/classifier.weight", .architecture = "TokenClassification",
     .steps = {MODERN_HEAD, {.linear = "/classifier", .has_bias = true}}, .n_steps = 2,
     .gives_logits = true},
    {.mark = "/classifier.weight", .architecture = "QuestionAnswering",
     .steps = {MODERN_HEAD, {.linear = "/classifier", .has_bias = true}}, .n_steps = 2,
     .gives_logits = true},
    {.mark = "/classifier.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {MODERN_HEAD, {.linear = "/classifier", .has_bias = true}}, .n_steps = 2,
     .gives_logits = true},
    {.mark = "/head.dense.weight",
     .steps = {MODERN_HEAD,
               {.linear = "/decoder", .has_bias = true, .tied = "embeddings.tok_embeddings"}},
     .n_steps = 2, .gives_logits = true},
};

static const struct headwise_head_form nomic_heads[] = {
    {.mark = "pooler.dense.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{.linear = "pooler.dense", .has_bias = true,
                .activation = HEADWISE_ACTIVATION_TANH}},
     .n_steps = 1, .pooled_step = 1},
};
/* clang-format on */

static enum headwise_status settle_modernbert_head(struct headwise_description *d,
                                                   const headwise_checkpoint *checkpoint) {
    char pooling[HEADWISE_SETTING_SIZE];
    struct headwise_head_step *steps = d->head.steps;
    enum headwise_status status =
        headwise_setting_activation(d, checkpoint, "classifier_activation", &steps[0].activation);
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "classifier_bias", &steps[0].has_bias);
    if (!status && steps[1].tied)
        status = headwise_setting_bool(d, checkpoint, "decoder_bias", &steps[1].has_bias);
    if (!status)
        status = headwise_setting_text(d, checkpoint, "classifier_pooling", pooling);
    if (status || d->head.rows == HEADWISE_HEAD_EACH || !*pooling || strcmp(pooling, "cls") == 0)
        return status;
    d->head.rows = HEADWISE_HEAD_MEAN;
    return strcmp(pooling, "mean") == 0
               ? HEADWISE_OK
               : headwise_setting_fail(HEADWISE_ERR_UNSUPPORTED, d, checkpoint,
                                       "classifier_pooling", "cls or mean");
}

static enum headwise_status settle_modernbert(struct headwise_description *d,
                                              const headwise_checkpoint *checkpoint) {
    enum headwise_status status =
        headwise_setting_bool(d, checkpoint, "norm_bias", &d->norm.has_bias);
    if (!status)
        status = headwise_setting_bool(d, checkpoint, "mlp_bias", &d->block.up_has_bias);
    d->block.down_has_bias = d->block.up_has_bias;
    return status || d->head.n_steps == 0 ? status : settle_modernbert_head(d, checkpoint);
}

/* The files that came with code of their own say swiglu and geglu for what is gated, and have
 * options that no model uses. */
static enum headwise_status settle_nomic(struct headwise_description *d,
                                         const headwise_checkpoint *checkpoint) {
    static const char *const never[] = {"prenorm",      "use_rms_norm", "parallel_block",
                                        "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved",
                                        "causal"};
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < sizeof never / sizeof *never; i++)
        status = headwise_setting_must_be(d, checkpoint, never[i], false);
    return status;
}

/* clang-format off */
static const struct headwise_family rows[] = {
    {.name = "modernbert", .model_types = "modernbert", .prefixes = "model.|",
     .stem = "layers.{i}.",
     .form = {.is_rotary = true,
              .norm = {.norm = HEADWISE_NORM_LAYER, .eps = 1e-5},
              .embeddings = {.word = "embeddings.tok_embeddings", .norm = "embeddings.norm",
                             .pad_id = -1},
              .block = {.attention_in = "attn_norm", .mlp_in = "mlp_norm",
                        .first_has_no_norm = true, .gating = HEADWISE_GATE_UP_JOINED,
                        .up = "mlp.Wi", .down = "mlp.Wo",
                        .activation = HEADWISE_ACTIVATION_GELU},
              .last_norm = "final_norm", .last_hidden_is_normed = true},
     HEADS(modernbert_heads), .settle = settle_modernbert},
    {.name = "nomic_bert", .model_types = "nomic_bert", .prefixes = "nomic_bert.|bert.|",
     .stem = "encoder.layers.{i}.",
     .form = {.is_rotary = true,
              .norm = {.norm = HEADWISE_NORM_LAYER, .eps = 1e-12, .has_bias = true},
              .embeddings = {.word = "embeddings.word_embeddings",
                             .type = "embeddings.token_type_embeddings", .norm = "emb_ln",
                             .pad_id = -1},
              .block = {.attention_sum = "norm1", .mlp_sum = "norm2",
                        .gating = HEADWISE_GATE_APART, .up = "mlp.fc11", .gate = "mlp.fc12",
                        .down = "mlp.fc2", .activation = HEADWISE_ACTIVATION_SILU}},
     HEADS(nomic_heads), .settle = settle_nomic},
};
/* clang-format on */

const struct headwise_families headwise_families_rotary = {rows, sizeof rows / sizeof *rows};
