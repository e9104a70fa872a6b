/* The index of a sharded checkpoint: which tensor lies in which file. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/config.h"
#include "checkpoint/files.h"
#include "files/error.h"

/* A million tensors with names of 80 bytes each. */
enum { MOST_INDEX_BYTES = 200000000 };

static enum headwise_status no_memory(const struct headwise_io_files *files) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", files->name);
}

static enum headwise_status add_located(struct headwise_io_files *files, const char *name,
                                        const char *shard, int32_t file) {
    if (files->n_located == files->n_located_room) {
        size_t room = files->n_located < 16 ? 16 : files->n_located + files->n_located / 2;
        struct headwise_io_located *grown = realloc(files->located, room * sizeof *files->located);
        if (!grown)
            return no_memory(files);
        files->located = grown;
        files->n_located_room = room;
    }
    files->located[files->n_located++] =
        (struct headwise_io_located){name, shard, file, -1, false, false};
    return HEADWISE_OK;
}

static char *keep_text(struct headwise_io_files *files, const struct headwise_json_text *text) {
    char *kept = headwise_io_arena_take(&files->texts, text->size + 1);
    if (!kept) {
        no_memory(files);
        return NULL;
    }
    headwise_json_copy(kept, text);
    kept[text->size] = '\0';
    return kept;
}

/* Reads the shard of a tensor. Names follow one another in long runs of the same shard, which keep
 * one text. */
static enum headwise_status read_shard(struct headwise_io_files *files,
                                       struct headwise_json_reader *json, const char *tensor,
                                       const char **shard) {
    struct headwise_json_text text;
    if (headwise_json_peek(json) != HEADWISE_JSON_TEXT || !headwise_json_take_text(json, &text))
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: weight_map: \"%s\" is no text, expected a file name",
                                files->name, tensor);
    if (*shard && headwise_json_equals(&text, *shard))
        return HEADWISE_OK;
    *shard = keep_text(files, &text);
    if (!*shard)
        return HEADWISE_ERR_NO_MEMORY;
    if (!**shard || strchr(*shard, '/') || text.has_nul || text.is_broken)
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT,
            "%s: weight_map: \"%s\" is in \"%s\", expected the name of a file in the same folder",
            files->name, tensor, *shard);
    return HEADWISE_OK;
}

/* Reads weight_map: names and their shards. */
static enum headwise_status read_map(struct headwise_io_files *files,
                                     const struct headwise_json_slice *map) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    const char *shard = NULL;
    headwise_json_begin_slice(&json, map->at, map);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        const char *name = keep_text(files, &key);
        enum headwise_status status =
            name ? read_shard(files, &json, name, &shard) : HEADWISE_ERR_NO_MEMORY;
        if (!status && !key.has_nul && !key.is_broken)
            status = add_located(files, name, shard, -1);
        if (status)
            return status;
    }
    return HEADWISE_OK;
}

/* Makes room for all names of the index and the shards and enters those of the index; of a name
 * that comes twice the first place is kept. */
static enum headwise_status enter_names(struct headwise_io_files *files) {
    size_t n = 0, room = files->n_located;
    for (size_t f = 0; f < files->n_files; f++)
        room += files->files[f]->n_entries;
    struct headwise_io_located *grown = realloc(files->located, room * sizeof *grown);
    files->located = grown ? grown : files->located;
    files->n_located_room = room;
    if (!grown || !headwise_io_names_make(&files->names, grown, sizeof *grown, room))
        return no_memory(files);
    for (size_t i = 0; i < files->n_located; i++) {
        grown[n] = grown[i];
        size_t first =
            headwise_io_names_add(&files->names, n, headwise_io_names_hash(&files->names, n));
        if (first == n)
            n++;
        else if (strcmp(grown[first].shard, grown[i].shard) != 0)
            grown[first].is_disputed = true;
    }
    files->n_located = n;
    return HEADWISE_OK;
}

/* Enters what shard number f has. */
static void enter_shard(struct headwise_io_files *files, int32_t f) {
    const headwise_safetensors *file = files->files[f];
    for (size_t i = 0; i < file->n_entries; i++) {
        size_t n = files->n_located;
        files->located[n] =
            (struct headwise_io_located){file->entries[i].name, NULL, f, -1, false, false};
        size_t first =
            headwise_io_names_add(&files->names, n, headwise_io_names_hash(&files->names, n));
        struct headwise_io_located *located = &files->located[first];
        if (first == n)
            files->n_located++;
        else if (located->file >= 0 && located->file != f)
            located->other = f;
        else
            located->file = f;
        if (located->shard && strcmp(located->shard, headwise_io_files_shard(files, f)) != 0)
            located->is_misplaced = true;
    }
}

/* Opens each shard that the index names. One that cannot be opened is an error of who needs it, but
 * there must be one that can; a malformed one is an error. */
static enum headwise_status open_shards(struct headwise_io_files *files) {
    const char **opened = NULL, *last = NULL;
    size_t n = 0;
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; i < files->n_located && (!status || status == HEADWISE_ERR_IO); i++) {
        const char *shard = files->located[i].shard;
        size_t f = shard == last ? 1 : n;
        while (shard != last && f > 0 && strcmp(opened[f - 1], shard) != 0)
            f--;
        last = shard;
        if (f > 0)
            continue;
        const char **grown = realloc(opened, (n + 1) * sizeof *opened);
        if (!grown) {
            status = no_memory(files);
            break;
        }
        opened = grown;
        opened[n++] = shard;
        status = headwise_io_files_add(files, shard);
    }
    free(opened);
    return status == HEADWISE_ERR_IO && files->n_files > 0 ? HEADWISE_OK : status;
}

enum headwise_status headwise_io_files_open_index(struct headwise_io_files *files) {
    struct headwise_io_map map;
    struct headwise_json_slice root, names = {NULL, 0};
    enum headwise_status status = headwise_io_read_file(&map, files->name, MOST_INDEX_BYTES);
    if (status)
        return status;
    status = headwise_io_json_object(&root, (const char *)map.bytes, map.size_bytes, files->name);
    if (!status)
        headwise_json_find(&names, &root, "weight_map");
    if (!status && headwise_io_value_kind(names) == HEADWISE_JSON_OBJECT)
        status = read_map(files, &names);
    if (!status && files->n_located == 0)
        status = headwise_io_fail(HEADWISE_ERR_FORMAT,
                                  "%s: has no weight_map, expected tensor names with file names",
                                  files->name);
    headwise_io_unmap(&map);
    if (!status)
        status = open_shards(files);
    if (!status)
        status = enter_names(files);
    for (size_t f = 0; !status && f < files->n_files; f++)
        enter_shard(files, (int32_t)f);
    return status;
}
