/* The header of a safetensors file, read in one pass. */
#include "safetensors/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER_BYTES = 100000000, /* the reference reader's limit */
    RELEASE_BYTES = 8 << 20       /* of a mapped header are given back at a time */
};

static enum headwise_status no_memory(const struct headwise_safetensors *file) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
}

static bool fits_string(const struct headwise_json_text *text) {
    return !text->has_nul && !text->is_broken;
}

static enum headwise_status read_metadata(struct headwise_safetensors *file,
                                          struct headwise_json_reader *json) {
    struct headwise_json_text key, value;
    if (headwise_json_peek(json) != HEADWISE_JSON_OBJECT && !json->error)
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: __metadata__ is no JSON object",
                                file->path);
    headwise_json_enter_object(json);
    while (headwise_json_next_key(json, &key)) {
        bool is_text = headwise_json_peek(json) == HEADWISE_JSON_TEXT;
        if (!is_text || !fits_string(&key)) {
            headwise_json_skip(json, NULL);
            if (!is_text && !json->error)
                return headwise_io_fail(
                    HEADWISE_ERR_FORMAT, "%s: __metadata__ \"%.*s\" is no text, expected text",
                    file->path, (int)(key.raw.size < 200 ? key.raw.size : 200), key.raw.at);
            file->n_metadata_lost++;
        } else if (headwise_json_take_text(json, &value)) {
            if (!fits_string(&value)) {
                file->n_metadata_lost++;
                continue;
            }
            if (!headwise_io_make_room(file, &file->metadata, sizeof *file->metadata,
                                       file->n_metadata, &file->n_metadata_room))
                return HEADWISE_ERR_NO_MEMORY;
            struct headwise_file_metadata *entry = &file->metadata[file->n_metadata];
            entry->key = headwise_io_keep_text(file, &key);
            entry->value = entry->key ? headwise_io_keep_text(file, &value) : NULL;
            if (!entry->value)
                return HEADWISE_ERR_NO_MEMORY;
            file->n_metadata++;
        }
    }
    return json->error ? headwise_io_fail_json(file, json) : HEADWISE_OK;
}

/* Of entries with the same key the last counts, as for the reference reader. */
static enum headwise_status unite_metadata(struct headwise_safetensors *file) {
    struct headwise_io_names names;
    size_t n = 0;
    if (file->n_metadata < 2)
        return HEADWISE_OK;
    if (!headwise_io_names_make(&names, file->metadata, sizeof *file->metadata, file->n_metadata))
        return no_memory(file);
    for (size_t i = 0; i < file->n_metadata; i++) {
        file->metadata[n] = file->metadata[i];
        size_t first = headwise_io_names_add(&names, n, headwise_io_names_hash(&names, n));
        file->metadata[first].value = file->metadata[i].value;
        n += first == n;
    }
    file->n_metadata = n;
    free(names.places);
    return HEADWISE_OK;
}

static enum headwise_status read_entries(struct headwise_safetensors *file) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    const char *begin = (const char *)file->map.bytes + LENGTH_BYTES, *released = begin;
    bool has_metadata = false;
    headwise_json_begin(&json, begin, file->header_end - LENGTH_BYTES);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        enum headwise_status status;
        bool is_metadata = headwise_json_equals(&key, "__metadata__");
        if (is_metadata && has_metadata)
            return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: header has a duplicate __metadata__",
                                    file->path);
        status =
            is_metadata ? read_metadata(file, &json) : headwise_io_parse_entry(file, &json, &key);
        has_metadata = has_metadata || is_metadata;
        if (status)
            return status;
        if (json.at - released > RELEASE_BYTES) {
            headwise_io_map_release(&file->map, released, json.at);
            released = json.at;
        }
    }
    return headwise_json_end(&json) ? HEADWISE_OK : headwise_io_fail_json(file, &json);
}

/* Enters the names that a C string can hold; those that come twice cannot be used. */
static enum headwise_status enter_names(struct headwise_safetensors *file) {
    enum { AHEAD = 16 };
    size_t n_noted = file->n_unusable, u = 0; /* in the order of the entries */
    uint64_t hashes[AHEAD];
    enum headwise_status status = HEADWISE_OK;
    if (!headwise_io_names_make(&file->names, file->entries, sizeof *file->entries,
                                file->n_entries))
        return no_memory(file);
    for (size_t i = 0; i < AHEAD && i < file->n_entries; i++)
        hashes[i] = headwise_io_names_hash(&file->names, i);
    for (size_t i = 0; !status && i < file->n_entries; i++) {
        uint64_t hash = hashes[i % AHEAD];
        if (i + AHEAD < file->n_entries)
            hashes[i % AHEAD] = headwise_io_names_hash(&file->names, i + AHEAD);
        while (u < n_noted && file->unusable[u].entry < i)
            u++;
        if (u < n_noted && file->unusable[u].entry == i &&
            file->unusable[u].problem == HEADWISE_IO_BAD_NAME)
            continue;
        size_t first = headwise_io_names_add(&file->names, i, hash);
        struct headwise_io_unusable twice = {.entry = (uint32_t)first,
                                             .problem = HEADWISE_IO_TWICE};
        if (first == i)
            continue;
        if (headwise_io_is_usable(&file->entries[first]))
            status = headwise_io_note_unusable(file, &twice);
        twice.entry = (uint32_t)i;
        if (!status && headwise_io_is_usable(&file->entries[i]))
            status = headwise_io_note_unusable(file, &twice);
    }
    return status;
}

/* Finds where the header ends. */
static enum headwise_status measure_header(struct headwise_safetensors *file) {
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
    file->header_end = LENGTH_BYTES + (size_t)length;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_parse_header(struct headwise_safetensors *file) {
    enum headwise_status status = measure_header(file);
    if (!status)
        status = read_entries(file);
    if (!status)
        status = unite_metadata(file);
    if (!status)
        status = enter_names(file);
    return status ? status : headwise_io_check_cover(file);
}
