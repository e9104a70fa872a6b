/* A pruned model's folder: config.json and model.safetensors. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/writing.h"
#include "files/error.h"
#include "headwise-io/file.h"

static enum headwise_status no_memory(const struct headwise_io_writing *w) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", w->folder);
}

static enum headwise_status save_config(const struct headwise_io_writing *w) {
    const struct headwise_file_part part = {w->config.text, w->config.size};
    return w->config.size > 0 ? headwise_file_write(w->config_path, &part, 1) : HEADWISE_OK;
}

static const struct headwise_file_tensor *changed(const struct headwise_io_writing *w,
                                                  const struct headwise_file_tensor *tensor) {
    for (size_t i = 0; i < w->changes.n; i++) {
        if (w->changes.old[i] == tensor)
            return &w->changes.made[i];
    }
    return tensor;
}

/* Metadata of the new file. */
struct entries {
    struct headwise_file_metadata *items;
    size_t n;
};

static void set_entry(struct entries *entries, const char *key, const char *value) {
    size_t i = 0;
    while (i < entries->n && strcmp(entries->items[i].key, key) != 0)
        i++;
    entries->items[i] = (struct headwise_file_metadata){key, value};
    entries->n += i == entries->n;
}

/* Entries of all files, the first one's where a key comes twice, pruned_heads and sizes anew. */
static enum headwise_status collect_metadata(const struct headwise_io_writing *w,
                                             struct entries *entries,
                                             const struct headwise_io_edits *sizes) {
    const struct headwise_io_files *files = &w->checkpoint->files;
    struct headwise_io_names names;
    size_t n = sizes->n + 1;
    for (size_t f = 0; f < files->n_files; f++)
        n += headwise_safetensors_metadata_count(files->files[f]);
    entries->items = calloc(n, sizeof *entries->items);
    if (!entries->items ||
        !headwise_io_names_make(&names, entries->items, sizeof *entries->items, n))
        return no_memory(w);
    for (size_t f = 0; f < files->n_files; f++) {
        for (size_t i = 0; i < headwise_safetensors_metadata_count(files->files[f]); i++) {
            entries->items[entries->n] = *headwise_safetensors_metadata_at(files->files[f], i);
            uint64_t hash = headwise_io_names_hash(&names, entries->n);
            entries->n += headwise_io_names_add(&names, entries->n, hash) == entries->n;
        }
    }
    free(names.places);
    for (size_t i = 0; i < sizes->n; i++)
        set_entry(entries, sizes->items[i].key, sizes->items[i].value.at);
    set_entry(entries, "pruned_heads", w->pruned.text);
    return HEADWISE_OK;
}

static enum headwise_status write_tensors(const struct headwise_io_writing *w,
                                          const struct entries *entries) {
    const struct headwise_io_files *files = &w->checkpoint->files;
    size_t n = 0;
    for (size_t f = 0; f < files->n_files; f++)
        n += headwise_safetensors_count(files->files[f]);
    struct headwise_file_tensor *tensors = calloc(n + 1, sizeof *tensors);
    if (!tensors)
        return no_memory(w);
    n = 0;
    for (size_t f = 0; f < files->n_files; f++) {
        for (size_t i = 0; i < headwise_safetensors_count(files->files[f]); i++)
            tensors[n++] = *changed(w, headwise_safetensors_at(files->files[f], i));
    }
    enum headwise_status status =
        headwise_safetensors_write(w->model_path, tensors, n, entries->items, entries->n);
    free(tensors);
    return status;
}

/* The folder must hold no model; made tells whether it is new. */
static enum headwise_status prepare_folder(struct headwise_io_writing *w, bool *made) {
    static const char *const names[] = {"config.json", "model.safetensors",
                                        "model.safetensors.index.json"};
    const char *slash = *w->folder && w->folder[strlen(w->folder) - 1] != '/' ? "/" : "";
    char *prefix = headwise_io_join(w->folder, slash);
    enum headwise_status status = prefix ? HEADWISE_OK : HEADWISE_ERR_NO_MEMORY;
    *made = !status && mkdir(w->folder, 0777) == 0;
    if (!status && !*made && errno != EEXIST)
        status =
            headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be made: %s", w->folder, strerror(errno));
    for (int i = 0; i < 3 && !status; i++) {
        char *path = headwise_io_join(prefix, names[i]);
        if (!path)
            status = HEADWISE_ERR_NO_MEMORY;
        else if (access(path, F_OK) == 0)
            status = headwise_io_fail(
                HEADWISE_ERR_IO, "%s: is there already, expected a folder without a model", path);
        if (i == 0)
            w->config_path = path;
        else if (i == 1)
            w->model_path = path;
        else
            free(path);
    }
    free(prefix);
    return status;
}

/* config.json first: without the tensors there is no model yet. */
static enum headwise_status write_folder(struct headwise_io_writing *w) {
    bool made;
    struct entries entries = {NULL, 0};
    struct headwise_io_edits sizes = {.n = 0};
    if (!w->checkpoint->has_config)
        headwise_io_edit_sizes(&sizes, w);
    enum headwise_status status = collect_metadata(w, &entries, &sizes);
    if (!status) {
        status = prepare_folder(w, &made);
        bool is_empty = !status;
        if (!status)
            status = save_config(w);
        if (!status)
            status = write_tensors(w, &entries);
        if (status && is_empty)
            unlink(w->config_path);
        if (status && made)
            rmdir(w->folder);
    }
    free(entries.items);
    return status;
}

static enum headwise_status check_arguments(const headwise_checkpoint *checkpoint,
                                            const char *folder,
                                            const struct headwise_prune_options *options) {
    static const char where[] = "model_write_pruned";
    enum headwise_status status = headwise_io_need(where, "model", checkpoint);
    if (!status)
        status = headwise_io_need(where, "folder", folder);
    if (!status)
        status = headwise_io_need(where, "options", options);
    if (!status && (options->size == 0 || options->size > sizeof *options))
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "%s: options->size is %zu, expected %zu (sizeof the struct)", where,
                                options->size, sizeof *options);
    if (!status && options->n_heads < 0)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "%s: options->n_heads is %lld, expected 0 or more", where,
                                (long long)options->n_heads);
    return !status && options->n_heads > 0 ? headwise_io_need(where, "heads", options->heads)
                                           : status;
}

enum headwise_status
headwise_checkpoint_write_pruned(headwise_checkpoint *checkpoint, const char *folder,
                                 const char *part, int64_t index,
                                 const struct headwise_prune_options *options) {
    enum headwise_status status = check_arguments(checkpoint, folder, options);
    if (status)
        return status;
    struct headwise_io_writing w = {.checkpoint = checkpoint, .folder = folder};
    status = headwise_io_plan_make(&w.before, checkpoint, part, index);
    if (!status)
        status = headwise_io_plan_prune(&w.after, &w.before, options);
    if (!status)
        status = headwise_io_files_require_all(&checkpoint->files);
    if (!status)
        status = headwise_io_write_pruned_heads(&w);
    if (!status)
        status = headwise_io_write_config(&w);
    if (!status)
        status = headwise_io_change_tensors(&w.changes, &w.before, &w.after, options);
    if (!status)
        status = write_folder(&w);
    headwise_io_changes_free(&w.changes);
    headwise_io_heads_free(&w.before.heads);
    headwise_io_heads_free(&w.after.heads);
    free(w.pruned.text);
    free(w.rope.text);
    free(w.config.text);
    free(w.config_path);
    free(w.model_path);
    return status;
}
