/* Writing: arguments are checked and the header is built before any file is touched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "files/names.h"
#include "files/replace.h"
#include "headwise-io/safetensors.h"
#include "json/writer.h"

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

static enum headwise_status no_memory(const char *path) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
}

/* Fails where one of n names, the first fields of items, is there twice. */
static enum headwise_status check_unique(const char *path, const void *items, size_t item_bytes,
                                         size_t n) {
    struct headwise_io_names names;
    enum headwise_status status = HEADWISE_OK;
    if (!headwise_io_names_make(&names, items, item_bytes, n))
        return no_memory(path);
    for (size_t i = 0; !status && i < n; i++) {
        const char *name;
        memcpy(&name, (const char *)items + i * item_bytes, sizeof name);
        if (headwise_io_names_add(&names, i, headwise_io_names_hash(&names, i)) != i)
            status =
                headwise_io_fail(HEADWISE_ERR_INVALID, "%s: \"%s\" is given twice", path, name);
    }
    free(names.places);
    return status;
}

static enum headwise_status check_text(const struct plan *plan,
                                       const struct headwise_json_writer *json, const char *key) {
    return json->is_not_utf8
               ? headwise_io_fail(HEADWISE_ERR_INVALID, "%s: \"%s\" or its value is not UTF-8 text",
                                  plan->path, key)
               : HEADWISE_OK;
}

static enum headwise_status describe_metadata(struct headwise_json_writer *json,
                                              const struct plan *plan,
                                              const struct headwise_file_metadata *metadata,
                                              size_t n_metadata) {
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < n_metadata; i++) {
        if (!metadata[i].key || !metadata[i].value)
            return headwise_io_fail(HEADWISE_ERR_INVALID, "%s: \"%s\" or its value is NULL",
                                    plan->path, metadata[i].key ? metadata[i].key : "");
        headwise_json_write_raw(json, i > 0 ? "," : "\"__metadata__\":{");
        headwise_json_write_text(json, metadata[i].key);
        headwise_json_write_raw(json, ":");
        headwise_json_write_text(json, metadata[i].value);
        status = check_text(plan, json, metadata[i].key);
    }
    if (!status && n_metadata > 0) {
        headwise_json_write_raw(json, plan->n_tensors > 0 ? "}," : "}");
        status = check_unique(plan->path, metadata, sizeof *metadata, n_metadata);
    }
    return status;
}

static enum headwise_status describe_tensor(struct headwise_json_writer *json,
                                            const struct plan *plan,
                                            const struct headwise_file_tensor *tensor, size_t begin,
                                            size_t end) {
    headwise_json_write_text(json, tensor->name);
    headwise_json_write_raw(json, ":{\"dtype\":\"");
    headwise_json_write_raw(json, headwise_file_dtype_name(tensor->dtype));
    headwise_json_write_raw(json, "\",\"shape\":[");
    for (int i = 0; i < tensor->rank; i++) {
        headwise_json_write_raw(json, i > 0 ? "," : "");
        headwise_json_write_integer(json, tensor->shape[i]);
    }
    headwise_json_write_raw(json, "],\"data_offsets\":[");
    headwise_json_write_integer(json, (int64_t)begin);
    headwise_json_write_raw(json, ",");
    headwise_json_write_integer(json, (int64_t)end);
    headwise_json_write_raw(json, "]}");
    return check_text(plan, json, tensor->name);
}

static enum headwise_status build_header(struct headwise_json_writer *json, const struct plan *plan,
                                         const struct headwise_file_tensor *tensors,
                                         const struct headwise_file_metadata *metadata,
                                         size_t n_metadata) {
    size_t end = 0;
    headwise_json_write_raw(json, "{");
    enum headwise_status status = describe_metadata(json, plan, metadata, n_metadata);
    for (size_t i = 0; !status && i < plan->n_tensors; i++) {
        size_t begin = end;
        if (__builtin_add_overflow(begin, plan->sizes[i], &end) || end > PTRDIFF_MAX)
            return fail_tensor(plan, plan->order[i]->name, "the file's size overflows");
        headwise_json_write_raw(json, i > 0 ? "," : "");
        status = describe_tensor(json, plan, plan->order[i], begin, end);
    }
    headwise_json_write_raw(json, "}");
    if (!status)
        status = check_unique(plan->path, tensors, sizeof *tensors, plan->n_tensors);
    return !status && json->is_out_of_memory ? no_memory(plan->path) : status;
}

static enum headwise_status write_all(const struct plan *plan,
                                      const struct headwise_json_writer *json) {
    static const char spaces[8] = "        ";
    size_t length = json->size, padding = (8 - length % 8) % 8;
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)(length + padding) >> 8 * i);

    struct headwise_io_replace replace;
    enum headwise_status status = headwise_io_replace_begin(&replace, plan->path);
    if (status)
        return status;
    status = headwise_io_replace_write(&replace, prefix, sizeof prefix);
    if (!status)
        status = headwise_io_replace_write(&replace, json->text, length);
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
    struct headwise_json_writer json = {0};
    enum headwise_status status = arrange(plan, tensors);
    if (!status)
        status = build_header(&json, plan, tensors, metadata, n_metadata);
    if (!status)
        status = write_all(plan, &json);
    free(json.text);
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
    status = plan.order && plan.sizes ? write_plan(&plan, tensors, metadata, n_metadata)
                                      : no_memory(path);
    free(plan.order);
    free(plan.sizes);
    return status;
}
