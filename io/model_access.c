/* Tensors and numbers of a model that belong to no attention layer. */
#include "error.h"
#include "model_internal.h"

const struct headwise_file_tensor *headwise_model_tensor(const headwise_model *model,
                                                         const char *name) {
    return name ? headwise_io_files_find(&model->files, name).tensor : NULL;
}

enum headwise_status headwise_model_read_f32(float *dst, const headwise_model *model,
                                             const char *name, int rank, const int64_t *shape) {
    if (!dst || !model || !name || rank < 0 || (rank > 0 && !shape))
        return headwise_io_fail(HEADWISE_ERR_INVALID, "model_read_f32: an argument is NULL");
    struct headwise_io_tensor tensor = headwise_io_files_find(&model->files, name);
    if (!tensor.tensor)
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is missing",
                                headwise_io_files_path(&model->files, NULL), name);
    enum headwise_status status = headwise_io_expect_shape(model, &tensor, rank, shape, "");
    return status ? status : headwise_safetensors_read_f32(dst, tensor.file, tensor.tensor);
}

/* The model's text settings are those of its first part. */
static struct headwise_io_config settings_of(const headwise_model *model) {
    return headwise_io_part_settings(model, headwise_io_part_at(model, 0));
}

enum headwise_status headwise_model_number(const headwise_model *model, const char *key,
                                           double *value) {
    if (!model || !key || !value)
        return headwise_io_fail(HEADWISE_ERR_INVALID, "model_number: an argument is NULL");
    struct headwise_io_config settings = settings_of(model);
    const json_t *found = headwise_io_config_find(&settings, key, NULL);
    if (!found || json_is_null(found))
        return headwise_io_config_fail(&settings, key, "a number");
    return headwise_io_config_number(&settings, key, value);
}

enum headwise_status headwise_model_integer(const headwise_model *model, const char *key,
                                            int64_t *value) {
    if (!model || !key || !value)
        return headwise_io_fail(HEADWISE_ERR_INVALID, "model_integer: an argument is NULL");
    struct headwise_io_config settings = settings_of(model);
    const json_t *found = headwise_io_config_find(&settings, key, NULL);
    if (!found || json_is_null(found))
        return headwise_io_config_fail(&settings, key, "an integer");
    return headwise_io_config_integer(&settings, key, INT64_MIN, value);
}
