/* Opening, closing and asking a safetensors file. */
#include "headwise-io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/header.h"

/* An object with a path and nothing else. */
static headwise_safetensors *create(const char *path) {
    headwise_safetensors *file = calloc(1, sizeof *file);
    size_t n = strlen(path) + 1;
    if (file)
        file->path = malloc(n);
    if (!file || !file->path) {
        free(file);
        headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    memcpy(file->path, path, n);
    return file;
}

/* Checks the header; hands the object over or closes it. */
static enum headwise_status finish(headwise_safetensors **out, headwise_safetensors *file,
                                   enum headwise_status status) {
    if (!status)
        status = headwise_io_parse_header(file);
    if (status)
        headwise_safetensors_close(file);
    else
        *out = file;
    return status;
}

static enum headwise_status open_path(const char *where, headwise_safetensors **file,
                                      const char *path, bool copied) {
    enum headwise_status status = headwise_io_need(where, "file", file);
    if (!status)
        status = headwise_io_need(where, "path", path);
    if (status)
        return status;
    headwise_safetensors *created = create(path);
    if (!created)
        return HEADWISE_ERR_NO_MEMORY;
    return finish(file, created,
                  copied ? headwise_io_read_file(&created->map, path, SIZE_MAX)
                         : headwise_io_map_file(&created->map, path));
}

enum headwise_status headwise_safetensors_open(headwise_safetensors **file, const char *path) {
    return open_path("safetensors_open", file, path, false);
}

enum headwise_status headwise_safetensors_open_copy(headwise_safetensors **file, const char *path) {
    return open_path("safetensors_open_copy", file, path, true);
}

enum headwise_status headwise_safetensors_open_memory(headwise_safetensors **file,
                                                      const void *bytes, size_t size_bytes,
                                                      const char *name) {
    static const char where[] = "safetensors_open_memory";
    enum headwise_status status = headwise_io_need(where, "file", file);
    if (!status)
        status = headwise_io_need(where, "name", name);
    if (!status && size_bytes > 0)
        status = headwise_io_need(where, "bytes", bytes);
    if (status)
        return status;
    headwise_safetensors *created = create(name);
    if (!created)
        return HEADWISE_ERR_NO_MEMORY;
    created->map = (struct headwise_io_map){bytes ? bytes : (const void *)"", size_bytes,
                                            HEADWISE_IO_BORROWED};
    return finish(file, created, HEADWISE_OK);
}

void headwise_safetensors_close(headwise_safetensors *file) {
    if (!file)
        return;
    free(file->entries);
    free(file->names.places);
    free(file->unusable);
    free(file->order);
    free(file->metadata);
    headwise_io_arena_release(&file->texts);
    headwise_io_unmap(&file->map);
    free(file->path);
    free(file);
}

const char *headwise_safetensors_path(const headwise_safetensors *file) {
    return file->path;
}

size_t headwise_safetensors_count(const headwise_safetensors *file) {
    return file->n_tensors;
}

const struct headwise_file_tensor *headwise_safetensors_at(const headwise_safetensors *file,
                                                           size_t index) {
    return index < file->n_tensors ? &file->entries[file->order[index]] : NULL;
}

const struct headwise_file_tensor *headwise_safetensors_find(const headwise_safetensors *file,
                                                             const char *name) {
    size_t index;
    return name && headwise_io_names_find(&file->names, name, &index) &&
                   headwise_io_is_usable(&file->entries[index])
               ? &file->entries[index]
               : NULL;
}

size_t headwise_safetensors_metadata_count(const headwise_safetensors *file) {
    return file->n_metadata;
}

const struct headwise_file_metadata *
headwise_safetensors_metadata_at(const headwise_safetensors *file, size_t index) {
    return index < file->n_metadata ? &file->metadata[index] : NULL;
}

const char *headwise_safetensors_metadata(const headwise_safetensors *file, const char *key) {
    for (size_t i = 0; key && i < file->n_metadata; i++) {
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    }
    return NULL;
}
