/* Tensors of a checkpoint by name, in a file or in the shards of an index. */
#include "checkpoint/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"

char *headwise_io_join(const char *head, const char *tail) {
    size_t n_head = strlen(head), n_tail = strlen(tail);
    char *joined = malloc(n_head + n_tail + 1);
    if (!joined) {
        headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", tail);
        return NULL;
    }
    memcpy(joined, head, n_head);
    memcpy(joined + n_head, tail, n_tail + 1);
    return joined;
}

enum headwise_status headwise_io_files_add(struct headwise_io_files *files, const char *name) {
    headwise_safetensors **grown =
        realloc(files->files, (files->n_files + 1) * sizeof *files->files);
    if (!grown)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", name);
    files->files = grown;
    char *path = headwise_io_join(files->folder, name);
    if (!path)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status =
        files->copied ? headwise_safetensors_open_copy(&files->files[files->n_files], path)
                      : headwise_safetensors_open(&files->files[files->n_files], path);
    free(path);
    files->n_files += !status;
    return status;
}

void headwise_io_files_close(struct headwise_io_files *files) {
    for (size_t i = 0; i < files->n_files; i++)
        headwise_safetensors_close(files->files[i]);
    free(files->files);
    free(files->located);
    free(files->names.places);
    headwise_io_arena_release(&files->texts);
    free(files->name);
    free(files->folder);
    free(files->config);
    *files = (struct headwise_io_files){0};
}

size_t headwise_io_files_count(const struct headwise_io_files *files) {
    return files->located ? files->n_located : files->files[0]->n_entries;
}

static const char *name_at(const struct headwise_io_files *files, size_t index) {
    return files->located ? files->located[index].name : files->files[0]->entries[index].name;
}

const char *headwise_io_files_at(const struct headwise_io_files *files, size_t index) {
    const char *name = name_at(files, index);
    size_t n = strlen(files->prefix);
    return strncmp(name, files->prefix, n) == 0 ? name + n : NULL;
}

/* A tensor by its whole name. */
static struct headwise_io_tensor find_whole(const struct headwise_io_files *files,
                                            const char *name) {
    struct headwise_io_tensor found = {NULL, NULL, false};
    const struct headwise_io_located *located;
    size_t index;
    if (!files->located) {
        found.file = files->files[0];
        found.tensor = headwise_safetensors_find(found.file, name);
        found.is_there = found.tensor || headwise_io_names_find(&found.file->names, name, &index);
        return found;
    }
    found.is_there = headwise_io_names_find(&files->names, name, &index);
    if (!found.is_there)
        return found;
    located = &files->located[index];
    if (located->file < 0 || located->other >= 0 || located->is_disputed || located->is_misplaced)
        return found;
    found.file = files->files[located->file];
    found.tensor = headwise_safetensors_find(found.file, name);
    return found;
}

/* Writes the whole name of a tensor; false where it is longer than any that is looked for. */
static bool write_whole(char whole[512], const struct headwise_io_files *files, const char *name) {
    return snprintf(whole, 512, "%s%s", files->prefix, name) < 512;
}

struct headwise_io_tensor headwise_io_files_find(const struct headwise_io_files *files,
                                                 const char *name) {
    char whole[512];
    return find_whole(files, *files->prefix && write_whole(whole, files, name) ? whole : name);
}

const char *headwise_io_files_shard(const struct headwise_io_files *files, int32_t file) {
    return files->files[file]->path + strlen(files->folder);
}

/* Whether the shard of a tensor was opened. */
static bool is_open(const struct headwise_io_files *files, const char *shard) {
    for (size_t f = 0; f < files->n_files; f++) {
        if (strcmp(headwise_io_files_shard(files, (int32_t)f), shard) == 0)
            return true;
    }
    return false;
}

static enum headwise_status fail_located(const struct headwise_io_files *files,
                                         const struct headwise_io_located *located) {
    size_t index;
    const headwise_safetensors *file = located->file < 0 ? NULL : files->files[located->file];
    if (located->other >= 0)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": is in %s too, expected in one file",
                                files->files[located->other]->path, located->name, file->path);
    if (located->is_disputed)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: weight_map: tensor \"%s\": comes twice, in different files",
                                files->name, located->name);
    if (file && located->is_misplaced)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: weight_map: tensor \"%s\": found in %s, expected in %s",
                                files->name, located->name, file->path, located->shard);
    if (!file && !is_open(files, located->shard))
        return headwise_io_fail(HEADWISE_ERR_IO,
                                "%s: weight_map: tensor \"%s\": expected in %s, which cannot be "
                                "opened",
                                files->name, located->name, located->shard);
    if (!file)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: weight_map: tensor \"%s\": found in no file, expected in %s",
                                files->name, located->name, located->shard);
    headwise_io_names_find(&file->names, located->name, &index);
    return headwise_io_fail_unusable(file, index);
}

enum headwise_status headwise_io_files_fail(const struct headwise_io_files *files,
                                            const char *name) {
    const struct headwise_file_tensor *tensor;
    char whole[512];
    size_t index;
    if (*files->prefix && write_whole(whole, files, name))
        name = whole;
    if (!files->located)
        return headwise_safetensors_require(&tensor, files->files[0], name);
    if (headwise_io_names_find(&files->names, name, &index))
        return fail_located(files, &files->located[index]);
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is missing", files->name,
                            name);
}

enum headwise_status headwise_io_files_require_all(const struct headwise_io_files *files) {
    for (size_t f = 0; f < files->n_files; f++) {
        const headwise_safetensors *file = files->files[f];
        if (file->n_unusable > 0)
            return headwise_io_fail_unusable(file, file->unusable[0].entry);
        if (file->n_metadata_lost > 0)
            return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                    "%s: __metadata__ has a text with U+0000 or half a surrogate "
                                    "pair, which cannot be copied",
                                    file->path);
    }
    for (size_t i = 0; i < files->n_located; i++) {
        if (!find_whole(files, files->located[i].name).tensor)
            return fail_located(files, &files->located[i]);
    }
    return HEADWISE_OK;
}

/* Bytes of all wrappers in front of a name. */
static size_t measure_prefix(const char *name) {
    static const char *const wrappers[] = {"base_model.model.", "module.", "_orig_mod.",
                                           "language_model."};
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(wrappers[i]);
        if (strncmp(name + n, wrappers[i], length) == 0) {
            n += length;
            i = -1; /* from the first one again */
        }
    }
    return n;
}

bool headwise_io_files_next_prefix(struct headwise_io_files *files, size_t *at) {
    size_t count = headwise_io_files_count(files);
    while (*at < count) {
        const char *name = name_at(files, (*at)++);
        size_t n = measure_prefix(name);
        if (n > 0 && n < sizeof files->prefix && strncmp(name, files->prefix, n) != 0) {
            snprintf(files->prefix, sizeof files->prefix, "%.*s", (int)n, name);
            return true;
        }
    }
    files->prefix[0] = '\0';
    return false;
}

const char *headwise_io_files_path(const struct headwise_io_files *files,
                                   const struct headwise_io_tensor *tensor) {
    return tensor && tensor->file ? headwise_safetensors_path(tensor->file) : files->name;
}
