/* A layer of a model folder, in the place of W_Q W_K W_V W_O. */
#ifndef HEADWISE_TOOLS_LAYER_CHECKPOINT_H
#define HEADWISE_TOOLS_LAYER_CHECKPOINT_H

#include "calls/layer_input.h"
#include "headwise-io/checkpoint.h"

/* What the user says; NULL: the model does. */
struct checkpoint_request {
    const char *path;
    const char *part; /* of the model's stacks of layers */
    int64_t index;    /* of the layer in it */
    const char *family;
    const char *overrides;                    /* JSON in front of config.json */
    struct headwise_checkpoint_options sizes; /* n_heads, n_kv_heads, head_dim; 0 likewise */
};

/* Opens the model; prints the line where that fails. */
int layer_checkpoint_open(headwise_checkpoint **checkpoint,
                          const struct checkpoint_request *request);

/* Opens the model and reads the layer into layer->config, whose arrays *made owns; the tensor
 * called x (NULL: "X") and, for a layer of cross attention, the memory called memory (NULL:
 * "memory") come from input. Returns an exit code. */
int layer_checkpoint_read(struct layer_input *layer, headwise_checkpoint_layer **made,
                          struct arena *arena, headwise_context *context,
                          const headwise_safetensors *input, const char *x, const char *memory,
                          const struct checkpoint_request *request);

#endif
