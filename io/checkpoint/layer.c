/* Making a layer: its plan, its weights, its options. */
#include "checkpoint/layer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "checkpoint/rotary.h"
#include "files/error.h"

/* Finds the part and checks the layer's number. */
static enum headwise_status begin_plan(struct headwise_io_plan *plan,
                                       headwise_checkpoint *checkpoint, const char *part,
                                       int64_t index) {
    *plan = (struct headwise_io_plan){
        .checkpoint = checkpoint, .family = checkpoint->family, .index = index};
    plan->part = headwise_io_part_called(checkpoint, part);
    if (!plan->part)
        return headwise_io_fail(
            HEADWISE_ERR_INVALID, "%s: has no part \"%s\", expected one as \"%s\"",
            checkpoint->files.name, part, headwise_checkpoint_part_name(checkpoint, 0));
    plan->settings = headwise_io_part_settings(checkpoint, plan->part);
    int64_t n = headwise_checkpoint_n_layers(checkpoint, part);
    if (index < 0 || index >= n)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "%s: has no %s layer %" PRId64 ", expected 0 to %" PRId64,
                                checkpoint->files.name, plan->part->name, index, n - 1);
    return HEADWISE_OK;
}

enum headwise_status headwise_io_plan_make(struct headwise_io_plan *plan,
                                           headwise_checkpoint *checkpoint, const char *part,
                                           int64_t index) {
    enum headwise_status status = begin_plan(plan, checkpoint, part, index);
    if (!status)
        status = headwise_io_plan_names(plan);
    return status ? status : headwise_io_plan_sizes(plan);
}

static enum headwise_status add_norms(const struct headwise_io_plan *plan,
                                      const struct headwise_io_weights *weights,
                                      struct headwise_mha_config *config) {
    double eps = plan->family->norm_is_layer ? 1e-5 : 1e-6;
    if (!plan->q_norm.tensor)
        return HEADWISE_OK;
    config->q_norm = weights->q_norm;
    config->k_norm = weights->k_norm;
    config->q_norm_bias = weights->q_norm_bias;
    config->k_norm_bias = weights->k_norm_bias;
    config->norm = plan->family->norm_is_layer ? HEADWISE_NORM_LAYER : HEADWISE_NORM_RMS;
    config->norm_adds_one = plan->family->norm_adds_one;
    static const char key[] = "rms_norm_eps|layer_norm_eps";
    enum headwise_status status = headwise_io_config_number(&plan->settings, key, &eps);
    config->norm_eps = (float)eps;
    if (!status && !(config->norm_eps > 0 && config->norm_eps <= 1))
        status = headwise_io_config_fail(&plan->settings, key, "a number above 0, at most 1");
    return status;
}

/* Whether the layer is one that the family leaves without rotary positions. */
static enum headwise_status lacks_rotary(const struct headwise_io_plan *plan, bool *lacks) {
    const char *key = plan->family->rotary_layers_key;
    *lacks =
        plan->family->rotary_pattern > 0 && (plan->index + 1) % plan->family->rotary_pattern == 0;
    headwise_io_value list =
        key ? headwise_io_config_find(&plan->settings, key) : (headwise_io_value){NULL, 0};
    if (headwise_io_value_kind(list) != HEADWISE_JSON_ARRAY)
        return HEADWISE_OK;
    struct headwise_json_reader json;
    struct headwise_json_number number;
    int64_t at = 0, has = -1;
    headwise_json_begin_slice(&json, list.at, &list);
    headwise_json_enter_array(&json);
    while (headwise_json_next_item(&json)) {
        if (at++ != plan->index)
            headwise_json_skip(&json, NULL);
        else if (!headwise_json_take_number(&json, &number) ||
                 !headwise_json_to_int64(&number, &has))
            break;
    }
    *lacks = has == 0;
    return has == 0 || has == 1
               ? HEADWISE_OK
               : headwise_io_config_fail(&plan->settings, key, "0 or 1 for each layer");
}

static enum headwise_status add_rotary(const struct headwise_io_plan *plan,
                                       headwise_context *context,
                                       struct headwise_mha_config *config) {
    bool alibi, lacks = false;
    enum headwise_status status = headwise_io_plan_has_alibi(plan, &alibi);
    if (!status)
        status = lacks_rotary(plan, &lacks);
    if (status || alibi || lacks || plan->part->cross ||
        (plan->family->positions != HEADWISE_IO_ROTARY &&
         plan->family->positions != HEADWISE_IO_ROTARY_OR_ALIBI))
        return status;
    return headwise_io_plan_rotary(plan, context, &config->rotary);
}

static enum headwise_dtype packed_dtype(const headwise_checkpoint *checkpoint,
                                        const struct headwise_io_weights *weights) {
    switch (checkpoint->options.weights) {
    case HEADWISE_CHECKPOINT_WEIGHTS_STORED:
        return weights->dtype;
    case HEADWISE_CHECKPOINT_WEIGHTS_F16:
        return HEADWISE_F16;
    case HEADWISE_CHECKPOINT_WEIGHTS_BF16:
        return HEADWISE_BF16;
    case HEADWISE_CHECKPOINT_WEIGHTS_I8:
    case HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC:
    case HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128:
        return HEADWISE_I8;
    default:
        return HEADWISE_F32;
    }
}

static enum headwise_status fill_config(const struct headwise_io_plan *plan,
                                        headwise_context *context,
                                        struct headwise_checkpoint_layer *layer) {
    struct headwise_io_weights *weights = &layer->weights;
    enum headwise_checkpoint_weights kind = plan->checkpoint->options.weights;
    enum headwise_status status = headwise_io_plan_weights(plan, weights);
    layer->config = (struct headwise_mha_config){
        .size = sizeof layer->config,
        .d_model = plan->d_model,
        .d_memory = plan->d_memory,
        .d_out = plan->d_out,
        .n_heads = plan->n_heads,
        .n_kv_heads = plan->n_kv_heads,
        .head_dim = plan->head_dim,
        .value_dim = plan->head_dim,
        .layout = HEADWISE_OUT_IN,
        .weight_dtype = weights->dtype,
        .w_q = weights->w[0],
        .w_k = weights->w[1],
        .w_v = weights->w[2],
        .w_o = weights->w[3],
        .b_q = weights->b[0],
        .b_k = weights->b[1],
        .b_v = weights->b[2],
        .b_o = weights->b[3],
        .group_sizes = plan->heads.group_sizes,
        .head_numbers = plan->heads.numbers,
        .packed_dtype = packed_dtype(plan->checkpoint, weights),
        .dynamic_int8 = kind == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC ||
                        kind == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128,
        .dynamic_group = kind == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128 ? 128 : 0,
    };
    if (!status)
        status = add_norms(plan, weights, &layer->config);
    return status ? status : add_rotary(plan, context, &layer->config);
}

static void note_tensors(const struct headwise_io_plan *plan,
                         struct headwise_checkpoint_layer *layer) {
    const struct headwise_io_tensor *more[] = {&plan->q_norm, &plan->k_norm, &plan->q_norm_bias,
                                               &plan->k_norm_bias, &plan->sinks};
    for (int m = 0; m < 4; m++) {
        headwise_io_layer_uses(layer, plan, &plan->w[m]);
        headwise_io_layer_uses(layer, plan, &plan->b[m]);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        headwise_io_layer_uses(layer, plan, more[i]);
}

static enum headwise_status fill_layer(struct headwise_checkpoint_layer *layer,
                                       headwise_checkpoint *checkpoint, headwise_context *context,
                                       const char *part, int64_t index) {
    struct headwise_io_plan plan;
    layer->tables = headwise_io_tables_hold(checkpoint);
    if (!layer->tables)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status = headwise_io_plan_make(&plan, checkpoint, part, index);
    layer->heads = plan.heads;
    if (!status)
        note_tensors(&plan, layer);
    if (!status)
        status = headwise_io_plan_options(&plan, &layer->options);
    if (!status)
        status = headwise_io_plan_biases(&plan, layer);
    if (!status)
        status = fill_config(&plan, context, layer);
    layer->is_cross = plan.part && plan.part->cross;
    return status;
}

/* Packs the matrices and drops them. */
static enum headwise_status pack_layer(struct headwise_checkpoint_layer *layer,
                                       headwise_context *context,
                                       const headwise_checkpoint *checkpoint, int64_t index) {
    struct headwise_mha_config *config = &layer->config;
    enum headwise_status status = headwise_mha_create(&layer->mha, context, config);
    if (status) /* what is invalid came from the files */
        status = headwise_io_fail(status == HEADWISE_ERR_INVALID ? HEADWISE_ERR_FORMAT : status,
                                  "%s: layer %" PRId64 ": %s", checkpoint->files.name, index,
                                  headwise_last_error());
    headwise_io_weights_free(&layer->weights);
    config->w_q = config->w_k = config->w_v = config->w_o = NULL;
    config->b_q = config->b_k = config->b_v = config->b_o = NULL;
    config->q_norm = config->k_norm = config->q_norm_bias = config->k_norm_bias = NULL;
    return status;
}

static enum headwise_status make_layer(headwise_checkpoint_layer **layer,
                                       headwise_checkpoint *checkpoint, headwise_context *context,
                                       const char *part, int64_t index, bool packed) {
    enum headwise_status status = headwise_io_need("model_layer", "layer", layer);
    if (!status)
        status = headwise_io_need("model_layer", "model", checkpoint);
    if (!status)
        status = headwise_io_need("model_layer", "context", context);
    if (status)
        return status;
    headwise_checkpoint_layer *created = calloc(1, sizeof *created);
    if (!created)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                                checkpoint->files.name);
    status = fill_layer(created, checkpoint, context, part, index);
    if (!status && packed)
        status = pack_layer(created, context, checkpoint, index);
    if (status)
        headwise_checkpoint_layer_destroy(created);
    else
        *layer = created;
    return status;
}

enum headwise_status headwise_checkpoint_layer_create(headwise_checkpoint_layer **layer,
                                                      headwise_checkpoint *checkpoint,
                                                      headwise_context *context, const char *part,
                                                      int64_t index) {
    return make_layer(layer, checkpoint, context, part, index, true);
}

enum headwise_status headwise_checkpoint_layer_read(headwise_checkpoint_layer **layer,
                                                    headwise_checkpoint *checkpoint,
                                                    headwise_context *context, const char *part,
                                                    int64_t index) {
    return make_layer(layer, checkpoint, context, part, index, false);
}

void headwise_checkpoint_layer_destroy(headwise_checkpoint_layer *layer) {
    if (!layer)
        return;
    headwise_mha_destroy(layer->mha);
    headwise_io_weights_free(&layer->weights);
    headwise_io_tables_release(layer->tables);
    headwise_io_heads_free(&layer->heads);
    free(layer->sinks);
    free(layer->slopes);
    free(layer->relative);
    free(layer);
}

const headwise_mha *headwise_checkpoint_layer_mha(const headwise_checkpoint_layer *layer) {
    return layer->mha;
}

const struct headwise_mha_config *
headwise_checkpoint_layer_config(const headwise_checkpoint_layer *layer) {
    return &layer->config;
}

const struct headwise_attention_options *
headwise_checkpoint_layer_options(const headwise_checkpoint_layer *layer) {
    return &layer->options;
}

bool headwise_checkpoint_layer_is_cross(const headwise_checkpoint_layer *layer) {
    return layer->is_cross;
}
