/* From opened files to a network: tables, blocks, the last norm, the head. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "stack/transformer.h"

static enum headwise_status no_memory(const struct headwise_loader *loader) {
    return headwise_model_no_memory(headwise_checkpoint_path(loader->checkpoint));
}

/* A table that is kept as f32: of positions, types. */
static enum headwise_status load_rows(struct headwise_loader *loader, const char *stem,
                                      int64_t width, const float **rows, int64_t *n_rows) {
    char name[HEADWISE_NAME_SIZE];
    headwise_describe_name(name, loader->description, stem, "");
    /* ViT's has no ".weight" and an axis of size 1 in front */
    if (!headwise_checkpoint_tensor(loader->checkpoint, name))
        headwise_describe_name(name, loader->description, stem, ".weight");
    const struct headwise_file_tensor *tensor =
        headwise_checkpoint_tensor(loader->checkpoint, name);
    size_t n = tensor ? tensor->n_elements : 0;
    *n_rows = (int64_t)n / width;
    return headwise_load_vector(loader, name, *n_rows > 0 ? *n_rows * width : width, rows);
}

/* A linear layer called stem, or, where it has no matrix of its own, with that of tied. n_outputs
 * 0: as the file has it. */
static enum headwise_status load_linear(struct headwise_loader *loader,
                                        const struct headwise_head_step *step, int64_t n_outputs,
                                        int64_t n_inputs, headwise_linear **linear) {
    const struct headwise_description *description = loader->description;
    struct headwise_matrix matrix;
    char name[HEADWISE_NAME_SIZE];
    const float *bias = NULL;
    headwise_describe_name(name, description, step->linear, ".weight");
    if (step->tied && !headwise_checkpoint_tensor(loader->checkpoint, name))
        headwise_describe_name(name, description, step->tied, ".weight");
    enum headwise_status status = headwise_load_matrix(loader, name, n_outputs, n_inputs, &matrix);
    if (!status && step->has_bias) {
        headwise_describe_name(name, description, step->bias ? step->bias : step->linear,
                               step->bias ? "" : ".bias");
        status = headwise_load_vector(loader, name, matrix.rows, &bias);
    }
    struct headwise_linear_config config = {
        .size = sizeof config,
        .n_inputs = n_inputs,
        .n_outputs = matrix.rows,
        .layout = HEADWISE_OUT_IN,
        .weight_dtype = matrix.dtype,
        .weights = matrix.data,
        .bias = bias,
        .packed_dtype = headwise_loader_packed(loader, matrix.dtype),
    };
    config.dynamic_int8 = headwise_loader_rounds_rows(loader, &config.dynamic_group);
    if (!status)
        status =
            headwise_loader_core(loader, headwise_linear_create(linear, loader->context, &config));
    headwise_matrix_drop(loader, &matrix);
    return status;
}

static enum headwise_status load_norm(struct headwise_loader *loader, const char *stem, int64_t n,
                                      bool is_scaled, struct headwise_row_norm *norm, bool *has) {
    char name[HEADWISE_NAME_SIZE];
    if (!stem)
        return HEADWISE_OK;
    *has = true;
    headwise_describe_name(name, loader->description, stem, "");
    return headwise_load_norm(loader, name, n, is_scaled, norm);
}

/* Patches of an image, the class, and a position for each. */
static enum headwise_status load_image(headwise_transformer *network,
                                       struct headwise_loader *loader) {
    const struct headwise_embeddings *form = &loader->description->embeddings;
    int64_t d = loader->description->d_model, side = form->image_size / form->patch_size, n = 0;
    struct headwise_transformer_info *info = &network->info;
    const struct headwise_head_step patch = {.linear = form->patch,
                                             .has_bias = form->patch_has_bias};
    enum headwise_status status = load_linear(
        loader, &patch, d, form->n_channels * form->patch_size * form->patch_size, &network->patch);
    if (!status)
        status = load_rows(loader, form->class_token, d, &network->class_token, &n);
    if (!status)
        status = load_rows(loader, form->position, d, &network->position, &n);
    info->n_channels = form->n_channels;
    info->image_height = info->image_width = form->image_size;
    info->n_patches = side * side + 1;
    if (!status && n != info->n_patches)
        status = headwise_model_fail(
            HEADWISE_ERR_FORMAT,
            "%s: tensor \"%s\": has %lld rows, expected %lld for images of %lld and patches of "
            "%lld",
            headwise_checkpoint_path(loader->checkpoint), form->position, (long long)n,
            (long long)info->n_patches, (long long)form->image_size, (long long)form->patch_size);
    info->max_tokens = info->n_patches;
    return status;
}

static enum headwise_status load_text(headwise_transformer *network,
                                      struct headwise_loader *loader) {
    const struct headwise_description *description = loader->description;
    const struct headwise_embeddings *form = &description->embeddings;
    struct headwise_transformer_info *info = &network->info;
    char name[HEADWISE_NAME_SIZE];
    int64_t n = 0;
    headwise_describe_name(name, description, form->word, "");
    enum headwise_status status = headwise_table_load(&network->words, loader, name);
    double scale = form->scale > 0 ? form->scale : 1;
    double residual = description->residual_scale > 0 ? description->residual_scale : 1;
    headwise_checkpoint_release(loader->checkpoint);
    network->word_factor = (float)(scale / residual);
    network->d_embedding = network->words.width;
    info->n_ids = network->words.n_rows;
    info->max_tokens = description->is_rotary ? description->max_tokens : INT32_MAX;
    if (!status && form->position) {
        status = load_rows(loader, form->position, network->d_embedding, &network->position, &n);
        info->max_tokens = n - form->position_offset;
    }
    if (!status && info->max_tokens < 1)
        status = headwise_model_fail(HEADWISE_ERR_FORMAT,
                                     "%s: tensor \"%s\": has %lld rows, expected more than %lld",
                                     headwise_checkpoint_path(loader->checkpoint), form->position,
                                     (long long)n, (long long)form->position_offset);
    if (!status && form->type)
        status =
            load_rows(loader, form->type, network->d_embedding, &network->type, &info->n_types);
    if (!status && form->project && network->d_embedding != description->d_model) {
        const struct headwise_head_step project = {.linear = form->project, .has_bias = true};
        status = load_linear(loader, &project, description->d_model, network->d_embedding,
                             &network->project);
    } else if (!status && network->d_embedding != description->d_model) {
        status = headwise_model_fail(
            HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": has rows of %lld, expected %lld",
            headwise_checkpoint_path(loader->checkpoint), name, (long long)network->d_embedding,
            (long long)description->d_model);
    }
    return status;
}

static enum headwise_status load_blocks(headwise_transformer *network,
                                        struct headwise_loader *loader) {
    struct headwise_transformer_info *info = &network->info;
    size_t n = (size_t)info->n_layers;
    enum headwise_status status = HEADWISE_OK;
    network->n_heads = headwise_store_take(&network->store, n, sizeof *network->n_heads);
    struct headwise_block *blocks = headwise_store_take(&network->store, n, sizeof *blocks);
    if (!network->n_heads || !blocks)
        return no_memory(loader);
    for (size_t i = 0; i < n; i++)
        blocks[i] = (struct headwise_block){0};
    network->blocks = blocks;
    info->n_heads = network->n_heads;
    for (size_t i = 0; !status && i < n; i++) {
        status = headwise_block_load(&blocks[i], loader, (int64_t)i);
        if (status)
            break;
        network->n_heads[i] = headwise_block_heads(&blocks[i]);
        if (network->n_heads[i] > info->most_heads)
            info->most_heads = network->n_heads[i];
        network->has_attention_in = network->has_attention_in || blocks[i].attention_in;
        info->weight_bytes += headwise_block_bytes(&blocks[i]);
        headwise_checkpoint_release(loader->checkpoint);
    }
    if (!status)
        info->is_causal =
            headwise_checkpoint_layer_options(blocks[0].attention)->causal != HEADWISE_CAUSAL_NONE;
    return status;
}

static enum headwise_status load_step(headwise_transformer *network, struct headwise_loader *loader,
                                      int index, int64_t *width) {
    const struct headwise_head_form *head = &loader->description->head;
    const struct headwise_head_step *form = &head->steps[index];
    struct headwise_step *step = &network->steps[index];
    struct headwise_transformer_info *info = &network->info;
    enum headwise_status status = HEADWISE_OK;
    network->n_steps = index + 1;
    step->activation = form->activation;
    if (form->linear) {
        status = load_linear(loader, form, 0, *width, &step->linear);
        if (status)
            return status;
        *width = headwise_linear_describe(step->linear)->n_outputs;
        info->weight_bytes += headwise_linear_describe(step->linear)->weight_bytes;
    }
    step->width = *width;
    status = load_norm(loader, form->norm, *width, false, &step->norm, &step->has_norm);
    if (index + 1 < head->n_steps && *width > network->step_width)
        network->step_width = *width;
    if (index + 1 == head->pooled_step)
        info->d_pooled = *width;
    if (index + 1 == head->n_steps && head->gives_logits)
        info->n_labels = *width;
    return status;
}

/* Logits are factor * x W, or cap * tanh(factor / cap * x W). */
static void set_factors(headwise_transformer *network) {
    const struct headwise_description *description = &network->description;
    double scale = description->logit_scale > 0 ? description->logit_scale : 1;
    double cap = description->logit_softcap;
    network->head_factor = (float)(cap > 0 ? scale / cap : 1);
    network->logit_factor = (float)(cap > 0 ? cap : scale);
    if (cap > 0 && network->n_steps > 0)
        network->steps[network->n_steps - 1].activation = HEADWISE_ACTIVATION_TANH;
}

/* A head that is not wanted is still known: its tensors are none of a stranger's. */
static enum headwise_status pass_over_head(struct headwise_loader *loader) {
    const struct headwise_head_form *head = &loader->description->head;
    enum headwise_status status = HEADWISE_OK;
    for (int i = 0; i < head->n_steps; i++) {
        const char *const stems[] = {head->steps[i].linear, head->steps[i].norm,
                                     head->steps[i].bias};
        static const char *const ends[] = {"", ".weight", ".bias"};
        for (int k = 0; !status && k < 9; k++) {
            char name[HEADWISE_NAME_SIZE];
            if (!stems[k / 3])
                continue;
            headwise_describe_name(name, loader->description, stems[k / 3], ends[k % 3]);
            const struct headwise_file_tensor *tensor =
                headwise_checkpoint_tensor(loader->checkpoint, name);
            if (tensor)
                status = headwise_loader_note(loader, tensor->name);
        }
    }
    return status;
}

static enum headwise_status load_head(headwise_transformer *network,
                                      struct headwise_loader *loader) {
    const struct headwise_description *description = loader->description;
    int64_t width = description->d_model;
    enum headwise_status status = HEADWISE_OK;
    if (!description->has_head)
        return pass_over_head(loader);
    for (int i = 0; !status && i < description->head.n_steps; i++)
        status = load_step(network, loader, i, &width);
    network->info.logits_of_rows =
        description->head.gives_logits && description->head.rows == HEADWISE_HEAD_EACH;
    return status;
}

enum headwise_status headwise_stack_load(headwise_transformer *network,
                                         struct headwise_loader *loader) {
    const struct headwise_description *description = loader->description;
    const struct headwise_embeddings *form = &description->embeddings;
    struct headwise_transformer_info *info = &network->info;
    info->size = sizeof *info;
    info->family = description->family->name;
    info->d_model = network->d_embedding = description->d_model;
    info->n_layers = description->n_layers;
    enum headwise_status status =
        form->patch ? load_image(network, loader) : load_text(network, loader);
    if (!status)
        status = load_norm(loader, form->norm, network->d_embedding, false,
                           &network->embedding_norm, &network->has_embedding_norm);
    if (!status)
        status = load_blocks(network, loader);
    if (!status)
        status = load_norm(loader, description->last_norm, info->d_model, true, &network->last_norm,
                           &network->has_last_norm);
    if (!status)
        status = load_head(network, loader);
    set_factors(network);
    info->weight_bytes += network->store.size_bytes;
    return status ? status : headwise_loader_finish(loader);
}
