/* The encoder of T5. */
#include <string.h>

#include "families/families.h"
#include "families/settings.h"

/* feed_forward_proj, "relu" or "gated-gelu": whether there is a gate, and, where dense_act_fn does
 * not say it, the activation; gated-gelu is the one by tanh. */
static enum headwise_status settle(struct headwise_description *d,
                                   const headwise_checkpoint *checkpoint) {
    static const char key[] = "feed_forward_proj", gated[] = "gated-";
    char text[HEADWISE_SETTING_SIZE];
    size_t size;
    bool has_function = headwise_checkpoint_value(checkpoint, d->part, "dense_act_fn", &size);
    enum headwise_status status = headwise_setting_text(d, checkpoint, key, text);
    if (status || !*text)
        return status;
    bool is_gated = strncmp(text, gated, strlen(gated)) == 0;
    const char *name = is_gated ? text + strlen(gated) : text;
    if (is_gated) {
        d->block.gating = HEADWISE_GATE_APART;
        d->block.gate = "layer.1.DenseReluDense.wi_0";
        d->block.up = "layer.1.DenseReluDense.wi_1";
    }
    if (has_function)
        return HEADWISE_OK;
    if (strcmp(name, "relu") == 0)
        d->block.activation = HEADWISE_ACTIVATION_RELU;
    else if (strcmp(name, "silu") == 0)
        d->block.activation = HEADWISE_ACTIVATION_SILU;
    else if (strcmp(name, "gelu") == 0)
        d->block.activation = is_gated ? HEADWISE_ACTIVATION_GELU_TANH : HEADWISE_ACTIVATION_GELU;
    else
        return headwise_setting_fail(HEADWISE_ERR_UNSUPPORTED, d, checkpoint, key,
                                     "relu, gated-gelu or gated-silu");
    return HEADWISE_OK;
}

static const struct headwise_family rows[] = {
    {.name = "t5",
     .model_types = "t5|mt5",
     .part = "encoder",
     .prefixes = "|transformer.",
     .stem = "encoder.block.{i}.",
     .form = {.norm = {.norm = HEADWISE_NORM_RMS, .eps = 1e-6},
              .embeddings = {.word = "shared", .pad_id = -1},
              .block = {.attention_in = "layer.0.layer_norm",
                        .mlp_in = "layer.1.layer_norm",
                        .up = "layer.1.DenseReluDense.wi",
                        .down = "layer.1.DenseReluDense.wo",
                        .activation = HEADWISE_ACTIVATION_RELU},
              .last_norm = "encoder.final_layer_norm",
              .last_hidden_is_normed = true},
     .passed_over = "encoder.embed_tokens.weight|decoder.embed_tokens.weight",
     .foreign = "decoder.|lm_head.|transformer.decoder.",
     .settle = settle},
};

const struct headwise_families headwise_families_t5 = {rows, sizeof rows / sizeof *rows};
