#include "safetensors/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/dtype.h"

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER_BYTES = 100000000 /* the reference reader's limit */
};

/* A tensor's entry while it is checked. */
struct entry {
    const struct headwise_safetensors *file;
    struct headwise_file_tensor *tensor;
    const json_t *json;
};

static enum headwise_status fail_entry(const struct entry *entry, const char *problem) {
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": %s", entry->file->path,
                            entry->tensor->name, problem);
}

static enum headwise_status parse_dtype(const struct entry *entry) {
    const char *name = json_string_value(json_object_get(entry->json, "dtype"));
    if (!name)
        return fail_entry(entry, "has no dtype text");
    if (!headwise_io_dtype_from_name(&entry->tensor->dtype, name))
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT,
            "%s: tensor \"%s\": unknown dtype \"%s\", expected " HEADWISE_IO_DTYPE_NAMES,
            entry->file->path, entry->tensor->name, name);
    return HEADWISE_OK;
}

static enum headwise_status parse_shape(const struct entry *entry) {
    struct headwise_file_tensor *tensor = entry->tensor;
    const json_t *shape = json_object_get(entry->json, "shape");
    if (!json_is_array(shape))
        return fail_entry(entry, "has no shape array");
    if (json_array_size(shape) > HEADWISE_FILE_MAX_RANK)
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": has %zu axes, at most %d are supported",
            entry->file->path, tensor->name, json_array_size(shape), HEADWISE_FILE_MAX_RANK);
    tensor->rank = (int)json_array_size(shape);
    tensor->n_elements = 1;
    bool fits = true;
    for (int i = 0; i < tensor->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail_entry(entry, "has a size in its shape that is no integer of 0 or more");
        tensor->shape[i] = json_integer_value(size);
        /* No short cut for a later 0: a product that wraps on the way is refused by every reader.
         */
        fits = fits && !__builtin_mul_overflow(tensor->n_elements, (uint64_t)tensor->shape[i],
                                               &tensor->n_elements);
    }
    if (!fits || __builtin_mul_overflow(tensor->n_elements, headwise_file_dtype_size(tensor->dtype),
                                        &tensor->size_bytes))
        return fail_entry(entry, "the product of its shape overflows");
    return HEADWISE_OK;
}

static enum headwise_status parse_offsets(const struct entry *entry, size_t header_end) {
    struct headwise_file_tensor *tensor = entry->tensor;
    const struct headwise_safetensors *file = entry->file;
    const json_t *offsets = json_object_get(entry->json, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *second = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(second) ||
        json_integer_value(first) < 0 || json_integer_value(second) < 0)
        return fail_entry(entry, "has no data_offsets of two integers of 0 or more");
    uint64_t begin = (uint64_t)json_integer_value(first);
    uint64_t end = (uint64_t)json_integer_value(second);
    if (end < begin)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets end at %" PRIu64
                                ", before they begin at %" PRIu64,
                                file->path, tensor->name, end, begin);
    uint64_t buffer_bytes = file->map.size_bytes - header_end;
    if (end > buffer_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets end at %" PRIu64
                                ", but the file has %" PRIu64 " bytes of data",
                                file->path, tensor->name, end, buffer_bytes);
    if (end - begin != tensor->size_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets hold %" PRIu64
                                " bytes, expected %zu for its shape and dtype %s",
                                file->path, tensor->name, end - begin, tensor->size_bytes,
                                headwise_file_dtype_name(tensor->dtype));
    tensor->data = file->map.bytes + header_end + begin;
    return HEADWISE_OK;
}

static enum headwise_status parse_metadata(struct headwise_safetensors *file, json_t *metadata) {
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: __metadata__ is no JSON object",
                                file->path);
    /* + 1: calloc(0) may return NULL */
    file->metadata = calloc(json_object_size(metadata) + 1, sizeof *file->metadata);
    if (!file->metadata)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                    "%s: __metadata__ \"%s\" is no text, expected text", file->path,
                                    key);
        file->metadata[file->n_metadata++] =
            (struct headwise_file_metadata){key, json_string_value(value)};
    }
    return HEADWISE_OK;
}

static enum headwise_status parse_entries(struct headwise_safetensors *file, size_t header_end) {
    const char *name;
    json_t *json;
    file->tensors = calloc(json_object_size(file->root) + 1, sizeof *file->tensors);
    if (!file->tensors)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
    json_object_foreach(file->root, name, json) {
        enum headwise_status status;
        if (strcmp(name, "__metadata__") == 0) {
            status = parse_metadata(file, json);
            if (status)
                return status;
            continue;
        }
        struct headwise_file_tensor *tensor = &file->tensors[file->n_tensors++];
        struct entry entry = {file, tensor, json};
        tensor->name = name;
        status = json_is_object(json) ? parse_dtype(&entry)
                                      : fail_entry(&entry, "its entry is no JSON object");
        if (!status)
            status = parse_shape(&entry);
        if (!status)
            status = parse_offsets(&entry, header_end);
        if (status)
            return status;
    }
    return HEADWISE_OK;
}

static int compare_position(const void *left, const void *right) {
    const struct headwise_file_tensor *a = left, *b = right;
    if (a->data != b->data)
        return (const unsigned char *)a->data < (const unsigned char *)b->data ? -1 : 1;
    return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

/* Sorts the tensors by position and checks that they cover the buffer exactly. */
static enum headwise_status check_cover(struct headwise_safetensors *file, size_t header_end) {
    const unsigned char *buffer = file->map.bytes + header_end;
    size_t covered = 0;
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors, compare_position);
    for (size_t i = 0; i < file->n_tensors; i++) {
        const struct headwise_file_tensor *tensor = &file->tensors[i];
        size_t begin = (size_t)((const unsigned char *)tensor->data - buffer);
        if (begin != covered)
            return headwise_io_fail(
                HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": data begins at %zu, expected %zu (%s)",
                file->path, tensor->name, begin, covered,
                begin < covered ? "it overlaps the tensor before it" : "there is a hole before it");
        covered += tensor->size_bytes;
    }
    size_t n_bytes = file->map.size_bytes - header_end;
    if (covered != n_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: has %zu bytes after its last tensor, expected none",
                                file->path, n_bytes - covered);
    return HEADWISE_OK;
}

/* Finds where the header ends and parses its JSON. */
static enum headwise_status parse_json(struct headwise_safetensors *file, size_t *header_end) {
    const unsigned char *bytes = file->map.bytes;
    size_t size = file->map.size_bytes;
    uint64_t length = 0;
    if (size < LENGTH_BYTES)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: has %zu bytes, expected the 8-byte length of a header first",
                                file->path, size);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > size - LENGTH_BYTES)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: header length is %" PRIu64 ", but only %zu bytes follow it",
                                file->path, length, size - LENGTH_BYTES);
    if (length > MAX_HEADER_BYTES)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: header length is %" PRIu64 ", expected at most %d", file->path,
                                length, MAX_HEADER_BYTES);
    if (length == 0 || bytes[LENGTH_BYTES] != '{')
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: header does not begin with '{'",
                                file->path);
    json_error_t error;
    file->root = json_loadb((const char *)bytes + LENGTH_BYTES, (size_t)length,
                            JSON_REJECT_DUPLICATES, &error);
    if (!file->root)
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: header is not usable JSON: %s (byte %d)",
                                file->path, error.text, error.position);
    *header_end = LENGTH_BYTES + (size_t)length;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_parse_header(struct headwise_safetensors *file) {
    size_t header_end = 0;
    enum headwise_status status = parse_json(file, &header_end);
    if (!status)
        status = parse_entries(file, header_end);
    if (!status)
        status = check_cover(file, header_end);
    return status;
}
