/* Opens generated checkpoints and files of the vectors folder. */
#include "models_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

static const char *join(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = guard_plain(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

const char *models_checkpoint(const char *name) {
    const char *folder = getenv("HEADWISE_CHECKPOINTS");
    if (folder == NULL)
        fail_msg("HEADWISE_CHECKPOINTS is not set: run the program by meson test");
    return join(folder, name);
}

const char *models_vectors(const char *name) {
    const char *folder = getenv("HEADWISE_VECTORS");
    return folder != NULL && folder[0] != '\0' ? join(folder, name) : NULL;
}

headwise_checkpoint *models_open(const char *path,
                                 const struct headwise_checkpoint_options *options) {
    headwise_checkpoint *model = NULL;
    if (headwise_checkpoint_open(&model, path, options) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return model;
}

headwise_checkpoint_layer *models_layer(headwise_checkpoint *model, headwise_context *context,
                                        const char *part, int64_t index) {
    headwise_checkpoint_layer *layer = NULL;
    if (headwise_checkpoint_layer_create(&layer, model, context, part, index) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return layer;
}

headwise_safetensors *models_file(const char *path) {
    headwise_safetensors *file = NULL;
    if (headwise_safetensors_open(&file, path) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return file;
}

static const struct headwise_file_tensor *find(const headwise_safetensors *file, const char *name,
                                               int64_t *rows, int64_t *columns) {
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    if (tensor == NULL)
        fail_msg("%s has no %s", headwise_safetensors_path(file), name);
    assert_true(tensor->rank >= 1);
    int64_t last = tensor->shape[tensor->rank - 1];
    if (rows != NULL)
        *rows = (int64_t)tensor->n_elements / last;
    if (columns != NULL)
        *columns = last;
    return tensor;
}

double *models_doubles(const headwise_safetensors *file, const char *name, int64_t *rows,
                       int64_t *columns) {
    const struct headwise_file_tensor *tensor = find(file, name, rows, columns);
    double *values = guard_plain(tensor->n_elements, sizeof(*values));
    assert_int_equal(headwise_safetensors_read_f64(values, file, tensor), HEADWISE_OK);
    return values;
}

float *models_floats(const headwise_safetensors *file, const char *name, int64_t *rows,
                     int64_t *columns) {
    const struct headwise_file_tensor *tensor = find(file, name, rows, columns);
    float *values = guard_floats(tensor->n_elements);
    assert_int_equal(headwise_safetensors_read_f32(values, file, tensor), HEADWISE_OK);
    return values;
}

float *models_run(headwise_context *context, const headwise_checkpoint_layer *layer, const float *x,
                  int64_t batch, int64_t rows, const float *memory, int64_t memory_rows,
                  const struct headwise_attention_call *given) {
    const headwise_mha *mha = headwise_checkpoint_layer_mha(layer);
    int64_t n = rows / batch, d_out = headwise_mha_describe(mha)->d_out;
    float *y = guard_floats((size_t)(rows * d_out));
    struct headwise_tensor tx =
        headwise_tensor_brhc(x, HEADWISE_F32, batch, n, 1, headwise_mha_describe(mha)->d_model);
    struct headwise_tensor ty = headwise_tensor_brhc(y, HEADWISE_F32, batch, n, 1, d_out);
    struct headwise_tensor tm = headwise_tensor_brhc(
        memory, HEADWISE_F32, batch, memory_rows / batch, 1, headwise_mha_describe(mha)->d_memory);
    struct headwise_attention_call call = {.size = sizeof call};
    if (given != NULL)
        call = *given;
    call.y = &ty;
    call.x = &tx;
    call.memory = memory != NULL ? &tm : NULL;
    if (call.options == NULL)
        call.options = headwise_checkpoint_layer_options(layer);
    if (headwise_mha_forward(context, mha, &call) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    return y;
}
