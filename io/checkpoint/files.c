#define _POSIX_C_SOURCE 200809L
#include "checkpoint/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/config.h"
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

/* Enters the tensors of the file just opened into names. */
static enum headwise_status enter_names(struct headwise_io_files *files) {
    const headwise_safetensors *file = files->files[files->n_files - 1];
    for (size_t i = 0; i < headwise_safetensors_count(file); i++) {
        const char *name = headwise_safetensors_at(file, i)->name;
        const json_t *other = json_object_get(files->names, name);
        if (other)
            return headwise_io_fail(
                HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is in %s too, expected in one file",
                headwise_safetensors_path(file), name,
                headwise_safetensors_path(files->files[json_integer_value(other)]));
        if (json_object_set_new(files->names, name, json_integer((json_int_t)files->n_files - 1)))
            return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                                    headwise_safetensors_path(file));
    }
    return HEADWISE_OK;
}

static enum headwise_status open_file(struct headwise_io_files *files, const char *name) {
    headwise_safetensors **grown =
        realloc(files->files, (files->n_files + 1) * sizeof *files->files);
    if (!grown)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", name);
    files->files = grown;
    char *path = headwise_io_join(files->folder, name);
    if (!path)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status = headwise_safetensors_open(&files->files[files->n_files], path);
    free(path);
    if (status)
        return status;
    files->n_files++;
    return enter_names(files);
}

/* The number of the shard called name in opened (name -> number), opening it the first time. */
static enum headwise_status open_shard(struct headwise_io_files *files, json_t *opened,
                                       const char *tensor, const json_t *shard) {
    const char *name = json_string_value(shard);
    if (!name)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: weight_map: \"%s\" is no text, expected a file name",
                                files->name, tensor);
    if (!*name || strchr(name, '/') || json_string_length(shard) != strlen(name))
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT,
            "%s: weight_map: \"%s\" is in \"%s\", expected the name of a file in the same folder",
            files->name, tensor, name);
    if (json_object_get(opened, name))
        return HEADWISE_OK;
    if (json_object_set_new(opened, name, json_integer((json_int_t)files->n_files)))
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", files->name);
    return open_file(files, name);
}

/* Whether each tensor lies where the index says. */
static enum headwise_status check_index(const struct headwise_io_files *files, json_t *map,
                                        const json_t *opened) {
    const char *tensor;
    json_t *shard;
    json_object_foreach(map, tensor, shard) {
        const json_t *expected = json_object_get(opened, json_string_value(shard));
        const json_t *found = json_object_get(files->names, tensor);
        if (found && json_integer_value(found) == json_integer_value(expected))
            continue;
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT, "%s: weight_map: tensor \"%s\": found in %s, expected in %s",
            files->name, tensor,
            found ? headwise_safetensors_path(files->files[json_integer_value(found)]) : "no file",
            json_string_value(shard));
    }
    return HEADWISE_OK;
}

static enum headwise_status open_map(struct headwise_io_files *files, json_t *map) {
    const char *tensor;
    json_t *shard, *opened = json_object();
    enum headwise_status status = HEADWISE_OK;
    if (!json_is_object(map) || json_object_size(map) == 0)
        status = headwise_io_fail(HEADWISE_ERR_FORMAT,
                                  "%s: has no weight_map, expected tensor names with file names",
                                  files->name);
    else
        json_object_foreach(map, tensor, shard) {
            status = open_shard(files, opened, tensor, shard);
            if (status)
                break;
        }
    if (!status)
        status = check_index(files, map, opened);
    json_decref(opened);
    return status;
}

static enum headwise_status open_index(struct headwise_io_files *files, const char *path) {
    json_t *root = NULL;
    enum headwise_status status = headwise_io_json_file(&root, path);
    if (!status)
        status = open_map(files, json_object_get(root, "weight_map"));
    json_decref(root);
    return status;
}

/* Sets *name to the folder's file or index. */
static enum headwise_status choose(struct headwise_io_files *files, const char *folder,
                                   const char **name) {
    static const char *const names[] = {SINGLE, INDEX};
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
        files->config = headwise_io_join(files->folder, "config.json");
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
    files->names = json_object();
    if (!files->names)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    enum headwise_status status = locate(files, path, is_folder);
    if (status)
        return status;
    return ends_with(files->name, ".json") ? open_index(files, files->name)
                                           : open_file(files, files->name + strlen(files->folder));
}

void headwise_io_files_close(struct headwise_io_files *files) {
    for (size_t i = 0; i < files->n_files; i++)
        headwise_safetensors_close(files->files[i]);
    free(files->files);
    json_decref(files->names);
    free(files->name);
    free(files->folder);
    free(files->config);
    *files = (struct headwise_io_files){0};
}

struct headwise_io_tensor headwise_io_files_find(const struct headwise_io_files *files,
                                                 const char *name) {
    const json_t *number = json_object_get(files->names, name);
    if (!number)
        return (struct headwise_io_tensor){NULL, NULL};
    const headwise_safetensors *file = files->files[json_integer_value(number)];
    return (struct headwise_io_tensor){file, headwise_safetensors_find(file, name)};
}

const char *headwise_io_files_path(const struct headwise_io_files *files,
                                   const struct headwise_io_tensor *tensor) {
    return tensor && tensor->file ? headwise_safetensors_path(tensor->file) : files->name;
}
