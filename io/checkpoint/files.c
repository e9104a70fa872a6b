/* Finding the files of a checkpoint, and tensors in them. */
#define _POSIX_C_SOURCE 200809L
#include "checkpoint/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

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

static bool ends_with(const char *text, const char *end) {
    size_t n_text = strlen(text), n_end = strlen(end);
    return n_text >= n_end && strcmp(text + n_text - n_end, end) == 0;
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

/* Sets *name to the folder's index, which also counts where a single file lies beside it, or file.
 */
static enum headwise_status choose(struct headwise_io_files *files, const char *folder,
                                   const char **name) {
    static const char *const names[] = {INDEX, SINGLE};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = headwise_io_join(files->folder, names[i]);
        bool exists = path && access(path, F_OK) == 0;
        free(path);
        if (!path)
            return HEADWISE_ERR_NO_MEMORY;
        if (exists) {
            *name = names[i];
            return HEADWISE_OK;
        }
    }
    return headwise_io_fail(HEADWISE_ERR_IO, "%s: has neither " SINGLE " nor " INDEX, folder);
}

/* Sets folder, name and config. */
static enum headwise_status locate(struct headwise_io_files *files, const char *path,
                                   bool is_folder) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    enum headwise_status status = HEADWISE_OK;
    if (is_folder) {
        files->folder = headwise_io_join(path, *path && !ends_with(path, "/") ? "/" : "");
        status = files->folder ? choose(files, path, &name) : HEADWISE_ERR_NO_MEMORY;
    } else {
        files->folder = headwise_io_join("", path);
        if (files->folder)
            files->folder[name - path] = '\0';
    }
    if (!status && files->folder) {
        files->name = headwise_io_join(files->folder, name);
        files->config = files->name ? headwise_io_join(files->folder, "config.json") : NULL;
    }
    if (!status && !files->config)
        status = HEADWISE_ERR_NO_MEMORY;
    if (!status && access(files->config, F_OK) != 0) {
        free(files->config);
        files->config = NULL;
    }
    return status;
}

enum headwise_status headwise_io_files_open(struct headwise_io_files *files, const char *path) {
    struct stat info;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    enum headwise_status status = locate(files, path, is_folder);
    if (status)
        return status;
    return ends_with(files->name, ".json")
               ? headwise_io_files_open_index(files)
               : headwise_io_files_add(files, files->name + strlen(files->folder));
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
        return headwise_io_files_fail_located(files, &files->located[index]);
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
            return headwise_io_files_fail_located(files, &files->located[i]);
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
