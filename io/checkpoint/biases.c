/* What is added to a layer's scores: sinks, ALiBi slopes, T5's relative bias. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/layer.h"
#include "files/error.h"

static enum headwise_status no_memory(const struct headwise_io_plan *plan) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                            headwise_io_files_path(&plan->checkpoint->files, NULL));
}

static enum headwise_status add_sinks(const struct headwise_io_plan *plan,
                                      struct headwise_checkpoint_layer *layer) {
    layer->sinks = calloc((size_t)plan->n_heads, sizeof *layer->sinks);
    layer->options.sinks = layer->sinks;
    return layer->sinks
               ? headwise_safetensors_read_f32(layer->sinks, plan->sinks.file, plan->sinks.tensor)
               : no_memory(plan);
}

static enum headwise_status add_slopes(const struct headwise_io_plan *plan,
                                       struct headwise_checkpoint_layer *layer) {
    const int64_t *numbers = plan->heads.numbers;
    layer->slopes = calloc((size_t)plan->heads.n_all, sizeof *layer->slopes);
    if (!layer->slopes)
        return no_memory(plan);
    headwise_alibi_slopes(layer->slopes, plan->heads.n_all);
    for (int64_t h = 0; numbers && h < plan->n_heads; h++)
        layer->slopes[h] = layer->slopes[numbers[h]];
    for (int64_t h = 0; plan->family->slopes_scaled && h < plan->n_heads; h++)
        layer->slopes[h] *= layer->options.scale;
    layer->options.alibi_slopes = layer->slopes;
    return HEADWISE_OK;
}

/* Finds the table in the stack's block 0 and checks its shape. */
static enum headwise_status find_table(const struct headwise_io_plan *plan,
                                       struct headwise_io_tensor *table) {
    char name[2 * HEADWISE_IO_NAME];
    int64_t n_buckets = 32;
    snprintf(name, sizeof name, "%s%s", plan->prefix, plan->part->relative);
    *table = headwise_io_files_find(&plan->checkpoint->files, name);
    if (!table->tensor && table->is_there)
        return headwise_io_files_fail(&plan->checkpoint->files, name);
    if (!table->tensor)
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is missing, expected for all layers of the %s",
            headwise_io_files_path(&plan->checkpoint->files, NULL), name, plan->part->name);
    if (!plan->checkpoint->has_config && table->tensor->rank > 0)
        n_buckets = table->tensor->shape[0];
    enum headwise_status status = headwise_io_config_integer(
        &plan->settings, "relative_attention_num_buckets", 1, &n_buckets);
    int64_t shape[2] = {n_buckets, plan->heads.n_all};
    return status ? status
                  : headwise_io_expect_shape(plan->checkpoint, table, 2, shape, "buckets, heads");
}

/* Of T5's distances, whose table has an entry for each; the models have 128. */
enum { MOST_REACH = 1048576 };

static enum headwise_status add_relative(const struct headwise_io_plan *plan,
                                         struct headwise_checkpoint_layer *layer) {
    static const char key[] = "relative_attention_max_distance";
    struct headwise_io_tensor table;
    int64_t reach = 128;
    enum headwise_status status = headwise_io_config_integer(&plan->settings, key, 1, &reach);
    if (!status)
        status = find_table(plan, &table);
    if (!status)
        headwise_io_layer_uses(layer, plan, &table);
    if (!status && reach > MOST_REACH)
        status = headwise_io_config_fail(&plan->settings, key, "at most 1048576");
    if (status)
        return status;
    float *values = calloc(table.tensor->n_elements, sizeof *values);
    size_t columns = 2 * (size_t)reach + 1;
    layer->relative = calloc((size_t)plan->heads.n_all * columns, sizeof(float));
    if (!values || !layer->relative)
        status = no_memory(plan);
    if (!status)
        status = headwise_safetensors_read_f32(values, table.file, table.tensor);
    if (!status && headwise_t5_bias(layer->relative, values, table.tensor->shape[0],
                                    plan->heads.n_all, !plan->part->causal, reach))
        status = headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": %s",
                                  headwise_io_files_path(&plan->checkpoint->files, &table),
                                  table.tensor->name, headwise_last_error());
    for (int64_t h = 0; !status && plan->heads.numbers && h < plan->n_heads; h++)
        memmove(layer->relative + (size_t)h * columns,
                layer->relative + (size_t)plan->heads.numbers[h] * columns,
                columns * sizeof(float));
    free(values);
    layer->options.relative_bias = layer->relative;
    layer->options.relative_reach = reach;
    return status;
}

enum headwise_status headwise_io_plan_has_alibi(const struct headwise_io_plan *plan, bool *alibi) {
    *alibi = plan->family->positions == HEADWISE_IO_ALIBI;
    if (plan->family->positions != HEADWISE_IO_ROTARY_OR_ALIBI)
        return HEADWISE_OK;
    return headwise_io_config_bool(&plan->settings, "alibi", alibi);
}

enum headwise_status headwise_io_plan_biases(const struct headwise_io_plan *plan,
                                             struct headwise_checkpoint_layer *layer) {
    bool alibi;
    enum headwise_status status = headwise_io_plan_has_alibi(plan, &alibi);
    if (!status && plan->sinks.tensor)
        status = add_sinks(plan, layer);
    if (!status && alibi)
        status = add_slopes(plan, layer);
    if (!status && plan->part->relative)
        status = add_relative(plan, layer);
    return status;
}
