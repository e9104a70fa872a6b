/* What follows the pooling: Dense layers and Normalize. */
#include <string.h>

#include "base/error.h"
#include "encode/encoder.h"
#include "encode/settings.h"
#include "headwise-io/safetensors.h"

static const struct {
    const char *name;
    enum headwise_activation activation;
} activations[] = {
    {"Identity", HEADWISE_ACTIVATION_NONE}, {"Tanh", HEADWISE_ACTIVATION_TANH},
    {"ReLU", HEADWISE_ACTIVATION_RELU},     {"GELU", HEADWISE_ACTIVATION_GELU},
    {"SiLU", HEADWISE_ACTIVATION_SILU},
};

static enum headwise_status room_for_step(const headwise_encoder *encoder, const char *where) {
    if (encoder->n_steps == HEADWISE_ENCODE_STEPS)
        return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                   "%s: more than %d modules follow the pooling", where,
                                   HEADWISE_ENCODE_STEPS);
    return HEADWISE_OK;
}

enum headwise_status headwise_encoder_add_normalize(headwise_encoder *encoder, const char *where) {
    enum headwise_status status = room_for_step(encoder, where);
    if (!status)
        encoder->steps[encoder->n_steps++] =
            (struct headwise_encode_step){.n_outputs = encoder->info.d_vector};
    return status;
}

/* The default of sentence-transformers is the hyperbolic tangent. */
static enum headwise_status read_activation(enum headwise_activation *activation,
                                            const struct headwise_config_object *object) {
    struct headwise_bytes name = {0};
    bool found;
    enum headwise_status status =
        headwise_settings_text(object, "activation_function", &name, &found);
    const char *kind = !status && found ? headwise_settings_class(name.at) : "Tanh";
    size_t i = 0, n = sizeof activations / sizeof activations[0];
    while (i < n && strcmp(activations[i].name, kind) != 0)
        i++;
    if (!status && i == n)
        status = headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                     "%s: %s: activation_function '%s' is not supported",
                                     object->file->name, object->part, name.at);
    if (!status)
        *activation = activations[i].activation;
    headwise_bytes_free(object->file->memory, &name);
    return status;
}

/* A layer of a sentence's vector, not of each token's. */
static enum headwise_status check_names(const struct headwise_config_object *object) {
    static const char *const keys[] = {"module_input_name", "module_output_name"};
    static const char *const words[] = {"sentence_embedding", NULL};
    enum headwise_status status = HEADWISE_OK;
    struct headwise_json_slice value;
    size_t word;
    for (size_t i = 0; !status && i < 2; i++) {
        if (headwise_config_get(object, keys[i], &value))
            status = headwise_config_word(object, keys[i], words, &word);
    }
    return status;
}

/* The tensor as f32 in memory of rows * columns; columns 0: of one axis. */
static enum headwise_status read_tensor(float *dst, const headwise_safetensors *file,
                                        const char *name, int64_t rows, int64_t columns) {
    const struct headwise_file_tensor *tensor;
    enum headwise_status status = headwise_safetensors_require(&tensor, file, name);
    if (status)
        return headwise_model_fail(status, "%s", headwise_io_last_error());
    bool fits = columns > 0
                    ? tensor->rank == 2 && tensor->shape[0] == rows && tensor->shape[1] == columns
                    : tensor->rank == 1 && tensor->shape[0] == rows;
    if (!fits)
        return headwise_model_fail(
            HEADWISE_ERR_FORMAT, "%s: %s has another shape than [%lld]%s%lld%s",
            headwise_safetensors_path(file), name, (long long)rows, columns > 0 ? "[" : " (",
            (long long)columns, columns > 0 ? "]" : " columns)");
    status = headwise_safetensors_read_f32(dst, file, tensor);
    return status ? headwise_model_fail(status, "%s", headwise_io_last_error()) : HEADWISE_OK;
}

static enum headwise_status make_linear(headwise_linear **linear, headwise_context *context,
                                        const struct headwise_allocator *memory,
                                        const headwise_safetensors *file,
                                        struct headwise_linear_config *config, bool has_bias) {
    size_t n = (size_t)config->n_inputs * (size_t)config->n_outputs;
    size_t n_bias = (size_t)config->n_outputs;
    float *weights = headwise_memory_take(memory, n, sizeof *weights);
    float *bias = headwise_memory_take(memory, n_bias, sizeof *bias);
    enum headwise_status status =
        weights && bias ? HEADWISE_OK : headwise_model_no_memory("encoder_open");
    if (!status)
        status = read_tensor(weights, file, "linear.weight", config->n_outputs, config->n_inputs);
    if (!status && has_bias)
        status = read_tensor(bias, file, "linear.bias", config->n_outputs, 0);
    config->weights = weights;
    config->bias = has_bias ? bias : NULL;
    if (!status && (status = headwise_linear_create(linear, context, config)))
        headwise_model_fail(status, "%s: %s", headwise_safetensors_path(file),
                            headwise_last_error());
    headwise_memory_give(memory, weights, n, sizeof *weights);
    headwise_memory_give(memory, bias, n_bias, sizeof *bias);
    return status;
}

/* The weights beside config.json; a file of Python objects is not read. */
static enum headwise_status open_weights(headwise_safetensors **file,
                                         const struct headwise_allocator *memory,
                                         const char *folder) {
    struct headwise_bytes path = {0};
    enum headwise_status status =
        headwise_settings_join(memory, &path, folder, "model.safetensors");
    if (!status && (status = headwise_safetensors_open(file, path.at)))
        headwise_model_fail(status,
                            "%s (pytorch_model.bin is not read: save the model again with "
                            "sentence-transformers 3 or later)",
                            headwise_io_last_error());
    headwise_bytes_free(memory, &path);
    return status;
}

enum headwise_status headwise_encoder_add_dense(headwise_encoder *encoder,
                                                headwise_context *context, const char *folder,
                                                const struct headwise_config_object *object) {
    struct headwise_linear_config config = {.size = sizeof config};
    struct headwise_encode_step step = {0};
    headwise_safetensors *file = NULL;
    size_t n_inputs = 0, n_outputs = 0;
    bool has_bias = true;
    enum headwise_status status = room_for_step(encoder, object->file->name);
    if (!status)
        status = headwise_config_size(object, "in_features", true, &n_inputs);
    if (!status)
        status = headwise_config_size(object, "out_features", true, &n_outputs);
    if (!status)
        status = headwise_config_bool(object, "bias", false, &has_bias);
    if (!status)
        status = check_names(object);
    if (!status)
        status = read_activation(&step.activation, object);
    if (!status && (n_inputs != (size_t)encoder->info.d_vector || n_outputs == 0 ||
                    n_outputs > (size_t)1 << 20))
        status = headwise_model_fail(HEADWISE_ERR_FORMAT,
                                     "%s: %s: %zu features in and %zu out, expected %lld in and 1 "
                                     "to 2^20 out",
                                     object->file->name, object->part, n_inputs, n_outputs,
                                     (long long)encoder->info.d_vector);
    if (!status)
        status = open_weights(&file, &encoder->memory, folder);
    config.n_inputs = (int64_t)n_inputs;
    config.n_outputs = step.n_outputs = (int64_t)n_outputs;
    if (!status)
        status = make_linear(&step.linear, context, &encoder->memory, file, &config, has_bias);
    headwise_safetensors_close(file);
    if (status)
        return status;
    encoder->steps[encoder->n_steps++] = step;
    encoder->info.d_vector = step.n_outputs;
    return HEADWISE_OK;
}
