/* Networks that read images, and CLIP's text beside its images. */
#include "families/families.h"
#include "families/settings.h"

#define HEADS(array) .heads = array, .n_heads = sizeof array / sizeof *array
#define LINEAR(name) .linear = name, .has_bias = true

/* A row is easier to read in lines than in columns. */
/* clang-format off */
static const struct headwise_head_form vit_heads[] = {
    {.mark = "/classifier.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{LINEAR("/classifier")}}, .n_steps = 1, .gives_logits = true},
    {.mark = "pooler.dense.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{LINEAR("pooler.dense"), .activation = HEADWISE_ACTIVATION_TANH}}, .n_steps = 1,
     .pooled_step = 1},
};
static const struct headwise_head_form text_heads[] = {
    {.mark = "text_projection.weight", .rows = HEADWISE_HEAD_END,
     .steps = {{.linear = "text_projection"}}, .n_steps = 1, .pooled_step = 1},
    {.mark = "text_model.final_layer_norm.weight", .rows = HEADWISE_HEAD_END,
     .n_steps = 1, .pooled_step = 1},
};
static const struct headwise_head_form image_heads[] = {
    {.mark = "visual_projection.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{.norm = "vision_model.post_layernorm"}, {.linear = "visual_projection"}},
     .n_steps = 2, .pooled_step = 2},
    {.mark = "vision_model.post_layernorm.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{.norm = "vision_model.post_layernorm"}}, .n_steps = 1, .pooled_step = 1},
};

#define CLIP_BLOCK                                                                                 \
    {.attention_in = "layer_norm1", .mlp_in = "layer_norm2", .up = "mlp.fc1", .down = "mlp.fc2",   \
     .up_has_bias = true, .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU_QUICK}
#define NORM(e)                                                                                    \
    { .norm = HEADWISE_NORM_LAYER, .eps = e, .has_bias = true }
/* clang-format on */

static enum headwise_status read_sizes(struct headwise_description *d,
                                       const headwise_checkpoint *checkpoint) {
    struct headwise_embeddings *e = &d->embeddings;
    enum headwise_status status =
        headwise_setting_integer(d, checkpoint, "num_channels", 1, &e->n_channels);
    if (!status)
        status = headwise_setting_integer(d, checkpoint, "image_size", 1, &e->image_size);
    if (!status)
        status = headwise_setting_integer(d, checkpoint, "patch_size", 1, &e->patch_size);
    if (!status &&
        (e->image_size % e->patch_size != 0 || e->image_size > 65536 || e->n_channels > 65536))
        status = headwise_setting_fail(HEADWISE_ERR_FORMAT, d, checkpoint, "image_size",
                                       "a multiple of patch_size, at most 65536");
    return status;
}

static enum headwise_status settle_vit(struct headwise_description *d,
                                       const headwise_checkpoint *checkpoint) {
    enum headwise_status status = read_sizes(d, checkpoint);
    if (!status && d->head.pooled_step > 0)
        status =
            headwise_setting_activation(d, checkpoint, "pooler_act", &d->head.steps[0].activation);
    return status;
}

/* The token whose row is the text's vector: the first with eos_token_id. Files that say 2 there are
 * older than the key's use, and mean the largest id. */
static enum headwise_status settle_text(struct headwise_description *d,
                                        const headwise_checkpoint *checkpoint) {
    d->end_id = 2;
    enum headwise_status status =
        headwise_setting_integer(d, checkpoint, "eos_token_id", 0, &d->end_id);
    if (d->end_id == 2)
        d->end_id = -1;
    return status;
}

/* clang-format off */
static const struct headwise_family rows[] = {
    {.name = "vit", .model_types = "vit", .prefixes = "vit.|", .stem = "encoder.layer.{i}.",
     .form = {.norm = NORM(1e-12),
              .embeddings = {.patch = "embeddings.patch_embeddings.projection",
                             .class_token = "embeddings.cls_token",
                             .position = "embeddings.position_embeddings", .patch_has_bias = true,
                             .n_channels = 3, .image_size = 224, .patch_size = 16},
              .block = {.attention_in = "layernorm_before", .mlp_in = "layernorm_after",
                        .up = "intermediate.dense", .down = "output.dense", .up_has_bias = true,
                        .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU},
              .last_norm = "layernorm"},
     HEADS(vit_heads), .settle = settle_vit},
    {.name = "clip_text", .model_types = "clip|clip_text_model", .part = "text",
     .prefixes = "|clip.", .stem = "text_model.encoder.layers.{i}.",
     .form = {.norm = NORM(1e-5),
              .embeddings = {.word = "text_model.embeddings.token_embedding",
                             .position = "text_model.embeddings.position_embedding", .pad_id = -1},
              .block = CLIP_BLOCK, .last_norm = "text_model.final_layer_norm"},
     HEADS(text_heads), .passed_over = "position_ids|logit_scale",
     .foreign = "vision_model.|visual_projection.", .settle = settle_text},
    {.name = "clip_vision", .model_types = "clip|clip_vision_model", .part = "vision",
     .prefixes = "|clip.", .stem = "vision_model.encoder.layers.{i}.",
     .form = {.norm = NORM(1e-5),
              .embeddings = {.patch = "vision_model.embeddings.patch_embedding",
                             .class_token = "vision_model.embeddings.class_embedding",
                             .position = "vision_model.embeddings.position_embedding",
                             .norm = "vision_model.pre_layrnorm", .n_channels = 3,
                             .image_size = 224, .patch_size = 32},
              .block = CLIP_BLOCK},
     HEADS(image_heads), .passed_over = "position_ids|logit_scale",
     .foreign = "text_model.|text_projection.", .settle = read_sizes},
};
/* clang-format on */

const struct headwise_families headwise_families_image = {rows, sizeof rows / sizeof *rows};
