/* Tensors and numbers of a model that belong to no attention layer. */
#include "checkpoint/internal.h"
#include "files/error.h"

const struct headwise_file_tensor *headwise_checkpoint_tensor(const headwise_checkpoint *checkpoint,
                                                              const char *name) {
    return name ? headwise_io_files_find(&checkpoint->files, name).tensor : NULL;
}

enum headwise_status headwise_checkpoint_read_f32(float *dst, const headwise_checkpoint *checkpoint,
                                                  const char *name, int rank,
                                                  const int64_t *shape) {
    static const char where[] = "model_read_f32";
    enum headwise_status status = headwise_io_need(where, "dst", dst);
    if (!status)
        status = headwise_io_need(where, "model", checkpoint);
    if (!status)
        status = headwise_io_need(where, "name", name);
    if (!status && rank < 0)
        status = headwise_io_fail(HEADWISE_ERR_INVALID, "%s: rank is %d, expected 0 or more", where,
                                  rank);
    if (!status && rank > 0)
        status = headwise_io_need(where, "shape", shape);
    if (status)
        return status;
    struct headwise_io_tensor tensor = headwise_io_files_find(&checkpoint->files, name);
    if (!tensor.tensor)
        return headwise_io_files_fail(&checkpoint->files, name);
    status = headwise_io_expect_shape(checkpoint, &tensor, rank, shape, "");
    return status ? status : headwise_safetensors_read_f32(dst, tensor.file, tensor.tensor);
}

static enum headwise_status check_lookup(const char *where, const headwise_checkpoint *checkpoint,
                                         const char *key, const void *value) {
    enum headwise_status status = headwise_io_need(where, "model", checkpoint);
    if (!status)
        status = headwise_io_need(where, "key", key);
    return status ? status : headwise_io_need(where, "value", value);
}

/* The model's text settings are those of its first part. */
static struct headwise_io_config settings_of(const headwise_checkpoint *checkpoint) {
    return headwise_io_part_settings(checkpoint, headwise_io_part_at(checkpoint, 0));
}

/* Whether a key has a value that is not null. */
static bool is_given(const struct headwise_io_config *settings, const char *key) {
    enum headwise_json_kind kind = headwise_io_value_kind(headwise_io_config_find(settings, key));
    return kind != HEADWISE_JSON_NOTHING && kind != HEADWISE_JSON_NULL;
}

enum headwise_status headwise_checkpoint_number(const headwise_checkpoint *checkpoint,
                                                const char *key, double *value) {
    enum headwise_status status = check_lookup("model_number", checkpoint, key, value);
    if (status)
        return status;
    struct headwise_io_config settings = settings_of(checkpoint);
    if (!is_given(&settings, key))
        return headwise_io_config_fail(&settings, key, "a number");
    return headwise_io_config_number(&settings, key, value);
}

enum headwise_status headwise_checkpoint_integer(const headwise_checkpoint *checkpoint,
                                                 const char *key, int64_t *value) {
    enum headwise_status status = check_lookup("model_integer", checkpoint, key, value);
    if (status)
        return status;
    struct headwise_io_config settings = settings_of(checkpoint);
    if (!is_given(&settings, key))
        return headwise_io_config_fail(&settings, key, "an integer");
    return headwise_io_config_integer(&settings, key, INT64_MIN, value);
}
