/* Opens networks and reads what they are compared with. */
#include "networks_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

const char *networks_path(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = guard_plain(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

const char *networks_folder(const char *variable) {
    const char *folder = getenv(variable);
    return folder != NULL && folder[0] != '\0' ? folder : NULL;
}

headwise_transformer *networks_open(headwise_context *context, const char *path,
                                    const struct headwise_transformer_options *options) {
    headwise_transformer *network = NULL;
    if (headwise_transformer_open(&network, context, path, options) != HEADWISE_OK)
        fail_msg("%s", headwise_model_last_error());
    return network;
}

headwise_safetensors *networks_file(const char *path) {
    headwise_safetensors *file = NULL;
    if (headwise_safetensors_open(&file, path) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return file;
}

const struct headwise_file_tensor *networks_find(const headwise_safetensors *file, const char *tag,
                                                 const char *name) {
    char whole[128];
    snprintf(whole, sizeof whole, "%s.%s", tag, name);
    return headwise_safetensors_find(file, whole);
}

double *networks_doubles(const headwise_safetensors *file,
                         const struct headwise_file_tensor *tensor) {
    double *values = guard_plain(tensor->n_elements, sizeof *values);
    assert_int_equal(headwise_safetensors_read_f64(values, file, tensor), HEADWISE_OK);
    return values;
}

static int64_t *integers(const headwise_safetensors *file, const char *tag, const char *name) {
    const struct headwise_file_tensor *tensor = networks_find(file, tag, name);
    if (tensor == NULL)
        return NULL;
    int64_t *values = guard_plain(tensor->n_elements, sizeof *values);
    assert_int_equal(headwise_safetensors_read_i64(values, file, tensor), HEADWISE_OK);
    return values;
}

static void read_images(struct networks_batch *batch, const headwise_safetensors *file,
                        const struct headwise_file_tensor *pixels,
                        const struct headwise_transformer_info *info) {
    batch->n_sequences = pixels->shape[0];
    batch->n_columns = info->n_patches;
    batch->n_rows = batch->n_sequences * info->n_patches;
    batch->pixels = guard_floats(pixels->n_elements);
    assert_int_equal(headwise_safetensors_read_f32(batch->pixels, file, pixels), HEADWISE_OK);
    batch->places = guard_plain((size_t)batch->n_rows, sizeof *batch->places);
    for (int64_t r = 0; r < batch->n_rows; r++)
        batch->places[r] = r;
}

static void read_texts(struct networks_batch *batch, const headwise_safetensors *file,
                       const char *tag) {
    const struct headwise_file_tensor *tensor = networks_find(file, tag, "input_ids");
    assert_non_null(tensor);
    const int64_t *ids = integers(file, tag, "input_ids");
    const int64_t *mask = integers(file, tag, "attention_mask");
    const int64_t *types = integers(file, tag, "token_type_ids");
    size_t n = tensor->n_elements;
    batch->n_sequences = tensor->shape[0];
    batch->n_columns = tensor->shape[1];
    batch->starts = guard_plain((size_t)batch->n_sequences + 1, sizeof *batch->starts);
    batch->ids = guard_plain(n, sizeof *batch->ids);
    batch->types = types != NULL ? guard_plain(n, sizeof *batch->types) : NULL;
    batch->places = guard_plain(n, sizeof *batch->places);
    for (int64_t i = 0; i < (int64_t)n; i++) {
        if (mask == NULL || mask[i] != 0) {
            batch->ids[batch->n_rows] = (int32_t)ids[i];
            if (types != NULL)
                batch->types[batch->n_rows] = (int32_t)types[i];
            batch->places[batch->n_rows++] = i;
        }
        batch->starts[i / batch->n_columns + 1] = (int32_t)batch->n_rows;
    }
}

struct networks_batch networks_read(const headwise_safetensors *file, const char *tag,
                                    const struct headwise_transformer_info *info) {
    struct networks_batch batch = {.tag = tag};
    const struct headwise_file_tensor *pixels = networks_find(file, tag, "pixel_values");
    if (pixels != NULL)
        read_images(&batch, file, pixels, info);
    else
        read_texts(&batch, file, tag);
    return batch;
}

struct headwise_transformer_call networks_call(const struct networks_batch *batch) {
    return (struct headwise_transformer_call){.size = sizeof(struct headwise_transformer_call),
                                              .n_sequences = batch->n_sequences,
                                              .starts = batch->starts,
                                              .ids = batch->ids,
                                              .types = batch->types,
                                              .pixels = batch->pixels};
}

void networks_forward(headwise_context *context, const headwise_transformer *network,
                      const struct headwise_transformer_call *call) {
    if (headwise_transformer_forward(context, network, call) != HEADWISE_OK)
        fail_msg("%s", headwise_model_last_error());
}
