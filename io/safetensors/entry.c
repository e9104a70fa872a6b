/* The entry of a tensor in a header: its element type, shape and place. */
#include <inttypes.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/dtype.h"
#include "safetensors/header.h"

/* A tensor's entry while it is read. */
struct entry {
    struct headwise_safetensors *file;
    struct headwise_json_reader *json;
    struct headwise_file_tensor *tensor;
    struct headwise_io_unusable unusable;
    bool is_unusable;
    bool has_dtype, has_shape, has_offsets;
    bool overflows; /* the product of the shape */
    uint64_t begin, end;
};

static enum headwise_status fail_entry(const struct entry *entry, const char *problem) {
    return entry->json->error ? headwise_io_fail_json(entry->file, entry->json)
                              : headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": %s",
                                                 entry->file->path, entry->tensor->name, problem);
}

static enum headwise_status read_dtype(struct entry *entry) {
    struct headwise_json_text text;
    char *name = entry->unusable.dtype;
    if (headwise_json_peek(entry->json) != HEADWISE_JSON_TEXT ||
        !headwise_json_take_text(entry->json, &text))
        return fail_entry(entry, "has no dtype text");
    size_t n = text.raw.size < sizeof entry->unusable.dtype - 1 ? text.raw.size
                                                                : sizeof entry->unusable.dtype - 1;
    memcpy(name, text.raw.at, n);
    name[n] = '\0';
    if (!headwise_io_dtype_from_name(&entry->tensor->dtype, name) &&
        entry->unusable.problem != HEADWISE_IO_BAD_NAME) {
        entry->is_unusable = true;
        entry->unusable.problem = HEADWISE_IO_BAD_DTYPE;
    }
    return HEADWISE_OK;
}

/* Takes an integer from 0 to 2^63 - 1. */
static bool read_size(struct entry *entry, int64_t *size) {
    struct headwise_json_number number;
    return headwise_json_peek(entry->json) == HEADWISE_JSON_NUMBER &&
           headwise_json_take_number(entry->json, &number) &&
           headwise_json_to_int64(&number, size) && *size >= 0;
}

static enum headwise_status read_shape(struct entry *entry) {
    struct headwise_file_tensor *tensor = entry->tensor;
    uint32_t n = 0;
    if (headwise_json_peek(entry->json) != HEADWISE_JSON_ARRAY)
        return fail_entry(entry, "has no shape array");
    headwise_json_enter_array(entry->json);
    tensor->n_elements = 1;
    while (headwise_json_next_item(entry->json)) {
        int64_t size;
        if (!read_size(entry, &size))
            return fail_entry(entry, "has a size in its shape that is no integer of 0 or more");
        if (n < HEADWISE_FILE_MAX_RANK)
            tensor->shape[n] = size;
        n++;
        /* No short cut for a later 0: a product that wraps on the way is refused by every reader.
         */
        entry->overflows = entry->overflows ||
                           __builtin_mul_overflow(tensor->n_elements, size, &tensor->n_elements);
    }
    tensor->rank = n <= HEADWISE_FILE_MAX_RANK ? (int)n : 0;
    if (n > HEADWISE_FILE_MAX_RANK && !entry->is_unusable) {
        entry->is_unusable = true;
        entry->unusable.problem = HEADWISE_IO_BAD_RANK;
        entry->unusable.n_axes = n;
    }
    return entry->json->error ? fail_entry(entry, "") : HEADWISE_OK;
}

static enum headwise_status read_offsets(struct entry *entry) {
    static const char problem[] = "has no data_offsets of two integers of 0 or more";
    int64_t offsets[2] = {0, 0};
    int n = 0;
    if (headwise_json_peek(entry->json) != HEADWISE_JSON_ARRAY)
        return fail_entry(entry, problem);
    headwise_json_enter_array(entry->json);
    while (headwise_json_next_item(entry->json)) {
        if (n == 2 || !read_size(entry, &offsets[n++]))
            return fail_entry(entry, problem);
    }
    if (n != 2 || entry->json->error)
        return fail_entry(entry, problem);
    entry->begin = (uint64_t)offsets[0];
    entry->end = (uint64_t)offsets[1];
    return HEADWISE_OK;
}

static enum headwise_status read_fields(struct entry *entry) {
    struct {
        const char *name;
        bool *has;
        enum headwise_status (*read)(struct entry *entry);
    } fields[] = {{"dtype", &entry->has_dtype, read_dtype},
                  {"shape", &entry->has_shape, read_shape},
                  {"data_offsets", &entry->has_offsets, read_offsets}};
    struct headwise_json_text key;
    if (headwise_json_peek(entry->json) != HEADWISE_JSON_OBJECT)
        return fail_entry(entry, "its entry is no JSON object");
    headwise_json_enter_object(entry->json);
    while (headwise_json_next_key(entry->json, &key)) {
        int f = 0;
        while (f < 3 && !headwise_json_equals(&key, fields[f].name))
            f++;
        if (f == 3) {
            headwise_json_skip(entry->json, NULL);
            continue;
        }
        if (*fields[f].has)
            return fail_entry(entry, "its entry has a duplicate key");
        *fields[f].has = true;
        enum headwise_status status = fields[f].read(entry);
        if (status)
            return status;
    }
    return entry->json->error ? fail_entry(entry, "") : HEADWISE_OK;
}

static enum headwise_status check_place(const struct entry *entry) {
    const struct headwise_safetensors *file = entry->file;
    const char *name = entry->tensor->name;
    uint64_t buffer_bytes = file->map.size_bytes - file->header_end;
    if (entry->end < entry->begin)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets end at %" PRIu64
                                ", before they begin at %" PRIu64,
                                file->path, name, entry->end, entry->begin);
    if (entry->end > buffer_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets end at %" PRIu64
                                ", but the file has %" PRIu64 " bytes of data",
                                file->path, name, entry->end, buffer_bytes);
    return HEADWISE_OK;
}

/* Sets size and data from what was read. */
static enum headwise_status settle(struct entry *entry) {
    struct headwise_file_tensor *tensor = entry->tensor;
    size_t width = headwise_file_dtype_size(tensor->dtype);
    if (!entry->has_dtype)
        return fail_entry(entry, "has no dtype text");
    if (!entry->has_shape)
        return fail_entry(entry, "has no shape array");
    if (!entry->has_offsets)
        return fail_entry(entry, "has no data_offsets of two integers of 0 or more");
    if (!entry->is_unusable &&
        (entry->overflows ||
         __builtin_mul_overflow(tensor->n_elements, width, &tensor->size_bytes)))
        return fail_entry(entry, "the product of its shape overflows");
    enum headwise_status status = check_place(entry);
    uint64_t n_bytes = entry->end - entry->begin;
    if (status)
        return status;
    if (!entry->is_unusable && n_bytes != tensor->size_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": data_offsets hold %" PRIu64
                                " bytes, expected %zu for its shape and dtype %s",
                                entry->file->path, tensor->name, n_bytes, tensor->size_bytes,
                                headwise_file_dtype_name(tensor->dtype));
    tensor->size_bytes = (size_t)n_bytes;
    tensor->data = entry->file->map.bytes + entry->file->header_end + entry->begin;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_parse_entry(struct headwise_safetensors *file,
                                             struct headwise_json_reader *json,
                                             const struct headwise_json_text *name) {
    if (!headwise_io_make_room(file, &file->entries, sizeof *file->entries, file->n_entries,
                               &file->n_entry_room))
        return HEADWISE_ERR_NO_MEMORY;
    struct entry entry = {.file = file, .json = json, .tensor = &file->entries[file->n_entries]};
    *entry.tensor = (struct headwise_file_tensor){.name = headwise_io_keep_text(file, name)};
    if (!entry.tensor->name)
        return HEADWISE_ERR_NO_MEMORY;
    entry.unusable.entry = (uint32_t)file->n_entries++;
    if (name->has_nul || name->is_broken) {
        entry.is_unusable = true;
        entry.unusable.problem = HEADWISE_IO_BAD_NAME;
    }
    enum headwise_status status = read_fields(&entry);
    if (!status)
        status = settle(&entry);
    return !status && entry.is_unusable ? headwise_io_note_unusable(file, &entry.unusable) : status;
}
