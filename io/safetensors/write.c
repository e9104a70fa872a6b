/* Writing: arguments are checked and the header is built before any file is touched. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "files/replace.h"
#include "headwise-io/safetensors.h"

/* What is to be written, in file order. */
struct plan {
    const char *path;
    const struct headwise_file_tensor **order;
    size_t *sizes; /* bytes of each, in the same order */
    size_t n_tensors;
};

static enum headwise_status fail_tensor(const struct plan *plan, const char *name,
                                        const char *problem) {
    return headwise_io_fail(HEADWISE_ERR_INVALID, "%s: tensor \"%s\": %s", plan->path, name,
                            problem);
}

static enum headwise_status measure(size_t *size_bytes, const struct plan *plan,
                                    const struct headwise_file_tensor *tensor) {
    size_t size = headwise_file_dtype_size(tensor->dtype);
    if (!tensor->name)
        return headwise_io_fail(HEADWISE_ERR_INVALID, "%s: the name of a tensor is NULL",
                                plan->path);
    if (strcmp(tensor->name, "__metadata__") == 0)
        return fail_tensor(plan, tensor->name, "this cannot be a tensor's name");
    if (tensor->rank < 0 || tensor->rank > HEADWISE_FILE_MAX_RANK)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "%s: tensor \"%s\": rank is %d, expected 0 to %d", plan->path,
                                tensor->name, tensor->rank, HEADWISE_FILE_MAX_RANK);
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0)
            return headwise_io_fail(HEADWISE_ERR_INVALID,
                                    "%s: tensor \"%s\": shape[%d] is %lld, expected 0 or more",
                                    plan->path, tensor->name, i, (long long)tensor->shape[i]);
        if (__builtin_mul_overflow(size, (uint64_t)tensor->shape[i], &size))
            return fail_tensor(plan, tensor->name, "the product of its shape overflows");
    }
    if (size > 0 && !tensor->data)
        return fail_tensor(plan, tensor->name, "its data is NULL");
    *size_bytes = size;
    return HEADWISE_OK;
}

/* Widest elements first, the given order within a width: with a header of a multiple of 8 bytes,
 * every tensor begins at a multiple of its element size without holes. */
static enum headwise_status arrange(struct plan *plan, const struct headwise_file_tensor *tensors) {
    size_t n = 0;
    for (size_t i = 0; i < plan->n_tensors; i++) {
        if (headwise_file_dtype_size(tensors[i].dtype) == 0)
            return headwise_io_fail(
                HEADWISE_ERR_INVALID, "%s: tensor \"%s\": dtype is %d, no headwise_file_dtype",
                plan->path, tensors[i].name ? tensors[i].name : "", (int)tensors[i].dtype);
    }
    for (size_t width = 8; width > 0; width /= 2) {
        for (size_t i = 0; i < plan->n_tensors; i++) {
            if (headwise_file_dtype_size(tensors[i].dtype) != width)
                continue;
            enum headwise_status status = measure(&plan->sizes[n], plan, &tensors[i]);
            if (status)
                return status;
            plan->order[n++] = &tensors[i];
        }
    }
    return HEADWISE_OK;
}

/* Adds value, which it takes over, under a key that must be new and UTF-8. */
static enum headwise_status add_key(json_t *object, const char *path, const char *key,
                                    json_t *value) {
    if (key && json_object_get(object, key)) {
        json_decref(value);
        return headwise_io_fail(HEADWISE_ERR_INVALID, "%s: \"%s\" is given twice", path, key);
    }
    if (!key || !value || json_object_set_new(object, key, value) != 0)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "%s: \"%s\" or its value is not UTF-8 text (or out of memory)",
                                path, key ? key : "");
    return HEADWISE_OK;
}

static json_t *describe(const struct headwise_file_tensor *tensor, size_t begin, size_t end) {
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", headwise_file_dtype_name(tensor->dtype),
                     "shape", shape, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static enum headwise_status build_header(json_t *root, const struct plan *plan,
                                         const struct headwise_file_metadata *metadata,
                                         size_t n_metadata) {
    enum headwise_status status = HEADWISE_OK;
    json_t *texts = json_object();
    for (size_t i = 0; !status && i < n_metadata; i++)
        status = add_key(texts, plan->path, metadata[i].key,
                         metadata[i].value ? json_string(metadata[i].value) : NULL);
    if (!status && n_metadata > 0)
        status = add_key(root, plan->path, "__metadata__", json_incref(texts));
    json_decref(texts);
    size_t end = 0;
    for (size_t i = 0; !status && i < plan->n_tensors; i++) {
        size_t begin = end;
        if (__builtin_add_overflow(begin, plan->sizes[i], &end) || end > INT64_MAX)
            return fail_tensor(plan, plan->order[i]->name, "the file's size overflows");
        status =
            add_key(root, plan->path, plan->order[i]->name, describe(plan->order[i], begin, end));
    }
    return status;
}

static enum headwise_status write_all(const struct plan *plan, const char *text) {
    static const char spaces[8] = "        ";
    size_t length = strlen(text), padding = (8 - length % 8) % 8;
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)(length + padding) >> 8 * i);

    struct headwise_io_replace replace;
    enum headwise_status status = headwise_io_replace_begin(&replace, plan->path);
    if (status)
        return status;
    status = headwise_io_replace_write(&replace, prefix, sizeof prefix);
    if (!status)
        status = headwise_io_replace_write(&replace, text, length);
    if (!status)
        status = headwise_io_replace_write(&replace, spaces, padding);
    for (size_t i = 0; !status && i < plan->n_tensors; i++)
        status = headwise_io_replace_write(&replace, plan->order[i]->data, plan->sizes[i]);
    return headwise_io_replace_end(&replace, status);
}

static enum headwise_status write_plan(struct plan *plan,
                                       const struct headwise_file_tensor *tensors,
                                       const struct headwise_file_metadata *metadata,
                                       size_t n_metadata) {
    json_t *root = json_object();
    char *text = NULL;
    enum headwise_status status = arrange(plan, tensors);
    if (!status)
        status = build_header(root, plan, metadata, n_metadata);
    if (!status) {
        text = json_dumps(root, JSON_COMPACT);
        status = text ? write_all(plan, text)
                      : headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", plan->path);
    }
    free(text);
    json_decref(root);
    return status;
}

enum headwise_status headwise_safetensors_write(const char *path,
                                                const struct headwise_file_tensor *tensors,
                                                size_t n_tensors,
                                                const struct headwise_file_metadata *metadata,
                                                size_t n_metadata) {
    enum headwise_status status = headwise_io_need("safetensors_write", "path", path);
    if (!status && n_tensors > 0)
        status = headwise_io_need("safetensors_write", "tensors", tensors);
    if (!status && n_metadata > 0)
        status = headwise_io_need("safetensors_write", "metadata", metadata);
    if (status)
        return status;
    /* + 1: calloc(0) may return NULL */
    struct plan plan = {path, calloc(n_tensors + 1, sizeof *plan.order),
                        calloc(n_tensors + 1, sizeof *plan.sizes), n_tensors};
    status = plan.order && plan.sizes
                 ? write_plan(&plan, tensors, metadata, n_metadata)
                 : headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
    free(plan.order);
    free(plan.sizes);
    return status;
}
