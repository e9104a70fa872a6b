/* Opens a checkpoint and reads one layer of it, with the rows that it is to be run on. */
#include "calls/layer_checkpoint.h"

#include <string.h>

#include "common/message.h"

int layer_checkpoint_open(headwise_checkpoint **checkpoint,
                          const struct checkpoint_request *request) {
    struct headwise_checkpoint_options options = request->sizes;
    options.size = sizeof options;
    options.family = request->family;
    options.overrides = request->overrides;
    if (headwise_checkpoint_open(checkpoint, request->path, &options) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return EXIT_GOOD;
}

static int read_layer(headwise_checkpoint_layer **made, headwise_context *context,
                      const struct checkpoint_request *request) {
    headwise_checkpoint *checkpoint = NULL;
    int code = layer_checkpoint_open(&checkpoint, request);
    if (code)
        return code;
    if (headwise_checkpoint_layer_read(made, checkpoint, context, request->part, request->index) !=
        HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    headwise_checkpoint_close(checkpoint);
    return code;
}

/* W_O as f32, for checks. */
static int widen_w_o(struct layer_input *layer, struct arena *arena) {
    const struct headwise_mha_config *config = &layer->config;
    int64_t n = config->d_out * config->n_heads * config->value_dim;
    if (config->weight_dtype == HEADWISE_F32) {
        layer->w_o = config->w_o;
        return EXIT_GOOD;
    }
    float *wide = arena_take(arena, n, sizeof *wide);
    if (!wide)
        return EXIT_UNUSABLE;
    if (config->weight_dtype == HEADWISE_F16)
        headwise_f32_from_f16(wide, config->w_o, (size_t)n);
    else
        headwise_f32_from_bf16(wide, config->w_o, (size_t)n);
    layer->w_o = wide;
    return EXIT_GOOD;
}

static int expect_width(const char *name, const struct headwise_tensor *rows, int64_t width,
                        const headwise_safetensors *input) {
    if (rows->size[3] == width)
        return EXIT_GOOD;
    return fail("%s: tensor \"%s\": width %lld, expected %lld as the model's layer",
                headwise_safetensors_path(input), name, (long long)rows->size[3], (long long)width);
}

int layer_checkpoint_read(struct layer_input *layer, headwise_checkpoint_layer **made,
                          struct arena *arena, headwise_context *context,
                          const headwise_safetensors *input, const char *x, const char *memory,
                          const struct checkpoint_request *request) {
    int code = read_layer(made, context, request);
    if (code)
        return code;
    bool is_cross = headwise_checkpoint_layer_is_cross(*made);
    if (memory && !is_cross)
        return fail("option --memory is \"%s\", but the model's layer is no cross attention",
                    memory);
    *layer = (struct layer_input){0};
    layer->config = *headwise_checkpoint_layer_config(*made);
    if (is_cross && !memory)
        memory = "memory";
    code = layer_input_read_rows(layer, arena, input, x, is_cross ? memory : NULL);
    if (!code)
        code = expect_width(x ? x : "X", &layer->x, layer->config.d_model, input);
    if (!code && is_cross)
        code = expect_width(memory, &layer->memory, layer->config.d_memory, input);
    return code ? code : widen_w_o(layer, arena);
}
