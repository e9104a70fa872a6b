/* Tensors that this library cannot read, which matter only to who needs them. */
#include <stdio.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/dtype.h"
#include "safetensors/header.h"

enum { NO_DTYPE = 255 };

bool headwise_io_is_usable(const struct headwise_file_tensor *entry) {
    return headwise_file_dtype_size(entry->dtype) > 0;
}

enum headwise_status headwise_io_note_unusable(struct headwise_safetensors *file,
                                               const struct headwise_io_unusable *unusable) {
    if (!headwise_io_make_room(file, &file->unusable, sizeof *file->unusable, file->n_unusable,
                               &file->n_unusable_room))
        return HEADWISE_ERR_NO_MEMORY;
    file->unusable[file->n_unusable++] = *unusable;
    file->entries[unusable->entry].dtype = (enum headwise_file_dtype)NO_DTYPE;
    return HEADWISE_OK;
}

static void describe(char *text, size_t size, const struct headwise_io_unusable *unusable) {
    switch (unusable->problem) {
    case HEADWISE_IO_BAD_DTYPE:
        snprintf(text, size, "unknown dtype \"%s\", expected " HEADWISE_IO_DTYPE_NAMES,
                 unusable->dtype);
        break;
    case HEADWISE_IO_BAD_RANK:
        snprintf(text, size, "has %u axes, at most %d are supported", unusable->n_axes,
                 HEADWISE_FILE_MAX_RANK);
        break;
    case HEADWISE_IO_BAD_NAME:
        snprintf(text, size, "its name holds U+0000 or half a surrogate pair");
        break;
    case HEADWISE_IO_TWICE:
        snprintf(text, size, "comes twice in the header, expected once");
        break;
    }
}

enum headwise_status headwise_io_fail_unusable(const struct headwise_safetensors *file,
                                               size_t index) {
    char text[160] = "cannot be used";
    for (size_t i = 0; i < file->n_unusable; i++) {
        if (file->unusable[i].entry == index)
            describe(text, sizeof text, &file->unusable[i]);
    }
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": %s", file->path,
                            file->entries[index].name, text);
}

enum headwise_status headwise_safetensors_require(const struct headwise_file_tensor **tensor,
                                                  const headwise_safetensors *file,
                                                  const char *name) {
    static const char where[] = "safetensors_require";
    size_t index;
    enum headwise_status status = headwise_io_need(where, "tensor", tensor);
    if (!status)
        status = headwise_io_need(where, "file", file);
    if (!status)
        status = headwise_io_need(where, "name", name);
    if (status)
        return status;
    if (!headwise_io_names_find(&file->names, name, &index))
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is missing", file->path,
                                name);
    if (!headwise_io_is_usable(&file->entries[index]))
        return headwise_io_fail_unusable(file, index);
    *tensor = &file->entries[index];
    return HEADWISE_OK;
}
