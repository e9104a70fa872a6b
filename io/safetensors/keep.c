/* What a header needs while it is read: arrays that grow, texts that stay, errors with a place. */
#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/header.h"

static enum headwise_status no_memory(const struct headwise_safetensors *file) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
}

enum headwise_status headwise_io_fail_json(const struct headwise_safetensors *file,
                                           const struct headwise_json_reader *json) {
    char line[200];
    headwise_json_describe(line, sizeof line, json);
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: header is not usable JSON: %s", file->path,
                            line);
}

bool headwise_io_make_room(const struct headwise_safetensors *file, void *items, size_t item_bytes,
                           size_t n, size_t *n_room) {
    void *old, *grown;
    if (n < *n_room)
        return true;
    size_t room = n < 16 ? 16 : n + n / 2;
    memcpy(&old, items, sizeof old);
    grown = realloc(old, room * item_bytes);
    if (!grown)
        return no_memory(file) == HEADWISE_OK;
    memcpy(items, &grown, sizeof grown);
    *n_room = room;
    return true;
}

char *headwise_io_keep_text(struct headwise_safetensors *file,
                            const struct headwise_json_text *text) {
    char *kept = headwise_io_arena_take(&file->texts, text->size + 1);
    if (!kept) {
        no_memory(file);
        return NULL;
    }
    headwise_json_copy(kept, text);
    kept[text->size] = '\0';
    return kept;
}
