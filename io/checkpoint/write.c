/* A pruned model's folder: config.json and model.safetensors. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/prune.h"
#include "files/error.h"
#include "headwise-io/file.h"

/* What is written, while it is made. */
struct writing {
    headwise_checkpoint *model;
    const char *folder;
    char *config_path, *model_path;
    struct headwise_io_plan before, after;
    struct headwise_io_changes changes;
    json_t *config; /* NULL: the model has none */
    json_t *pruned; /* pruned_heads */
    char *pruned_text;
};

static enum headwise_status no_memory(const struct writing *w) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", w->folder);
}

/* pruned_heads as it was, with the layer's list anew. */
static enum headwise_status list_pruned(struct writing *w) {
    const json_t *old = headwise_io_config_find(&w->before.settings, "pruned_heads", NULL);
    json_t *list = json_array();
    char key[48];
    if (json_is_string(old))
        w->pruned = json_loads(json_string_value(old), 0, NULL);
    else
        w->pruned = json_is_object(old) ? json_deep_copy(old) : json_object();
    headwise_io_pruned_key(key, &w->after);
    for (int64_t number = 0, h = 0; number < w->after.heads.n_all; number++) {
        if (h < w->after.n_heads && w->after.heads.numbers[h] == number)
            h++;
        else
            json_array_append_new(list, json_integer(number));
    }
    if (!w->pruned || json_object_set_new(w->pruned, key, list) != 0)
        return no_memory(w);
    w->pruned_text = json_dumps(w->pruned, JSON_COMPACT);
    return w->pruned_text ? HEADWISE_OK : no_memory(w);
}

/* Sets the first of several keys to what the caller gave, else to the size that only the shapes
 * told, as they will not any more. */
static void set_size(json_t *object, const struct writing *w, const char *keys, int64_t given,
                     int64_t found) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(keys, "|"), keys);
    if (given > 0 || !headwise_io_config_has(&w->before.settings, keys))
        json_object_set_new(object, key, json_integer(given > 0 ? given : found));
}

static void set_sizes(json_t *object, const struct writing *w) {
    const struct headwise_io_plan *plan = &w->before;
    const struct headwise_checkpoint_options *options = &w->model->options;
    set_size(object, w, plan->part->heads_key ? plan->part->heads_key : HEADWISE_IO_HEADS_KEY,
             options->n_heads, plan->heads.n_all);
    if (plan->family->grouped_heads && !plan->family->multi_query_key)
        set_size(object, w, HEADWISE_IO_KV_HEADS_KEY, options->n_kv_heads, plan->heads.n_all_kv);
    else if (options->n_kv_heads > 0)
        set_size(object, w, HEADWISE_IO_KV_HEADS_KEY, options->n_kv_heads, 0);
    set_size(object, w, "head_dim|d_kv", options->head_dim, plan->head_dim);
}

/* config.json with what the model was opened with in its place. */
static enum headwise_status make_config(struct writing *w) {
    const headwise_checkpoint *model = w->model;
    const char *section = w->before.part->section, *type = NULL;
    if (!model->has_config)
        return HEADWISE_OK;
    w->config = model->config ? json_deep_copy(model->config) : json_object();
    if (!w->config || (model->overrides && json_object_update(w->config, model->overrides) != 0))
        return no_memory(w);
    json_t *inner = section ? json_object_get(w->config, section) : NULL;
    inner = json_is_object(inner) ? inner : w->config;
    set_sizes(inner, w);
    type = json_string_value(json_object_get(w->config, "model_type"));
    const struct headwise_io_family *named = type ? headwise_io_family_by_type(type) : NULL;
    bool is_twin = named && named->twin && strcmp(named->twin, model->family->name) == 0;
    if (named != model->family && !is_twin) {
        const char *types = model->family->model_types;
        json_object_set_new(w->config, "model_type", json_stringn(types, strcspn(types, "|")));
    }
    return json_object_set(inner, "pruned_heads", w->pruned) == 0 ? HEADWISE_OK : no_memory(w);
}

static enum headwise_status write_config(const struct writing *w) {
    if (!w->config)
        return HEADWISE_OK;
    char *text = json_dumps(w->config, JSON_INDENT(2));
    if (!text)
        return no_memory(w);
    const struct headwise_file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
    enum headwise_status status = headwise_file_write(w->config_path, parts, 2);
    free(text);
    return status;
}

static const struct headwise_file_tensor *changed(const struct writing *w,
                                                  const struct headwise_file_tensor *tensor) {
    for (size_t i = 0; i < w->changes.n; i++) {
        if (w->changes.old[i] == tensor)
            return &w->changes.made[i];
    }
    return tensor;
}

/* Entries of all files, the first one's where a key comes twice, pruned_heads and sizes anew. */
static enum headwise_status collect_metadata(const struct writing *w, json_t *metadata) {
    const struct headwise_io_files *files = &w->model->files;
    for (size_t f = 0; f < files->n_files; f++) {
        for (size_t i = 0; i < headwise_safetensors_metadata_count(files->files[f]); i++) {
            const struct headwise_file_metadata *entry =
                headwise_safetensors_metadata_at(files->files[f], i);
            if (!json_object_get(metadata, entry->key) &&
                json_object_set_new(metadata, entry->key, json_string(entry->value)) != 0)
                return no_memory(w);
        }
    }
    if (!w->model->has_config)
        set_sizes(metadata, w);
    return json_object_set_new(metadata, "pruned_heads", json_string(w->pruned_text)) == 0
               ? HEADWISE_OK
               : no_memory(w);
}

static enum headwise_status write_tensors(const struct writing *w, const json_t *metadata) {
    const struct headwise_io_files *files = &w->model->files;
    size_t n = 0, n_entries = 0, n_texts = 0;
    const char *key;
    json_t *value;
    for (size_t f = 0; f < files->n_files; f++)
        n += headwise_safetensors_count(files->files[f]);
    struct headwise_file_tensor *tensors = calloc(n + 1, sizeof *tensors);
    struct headwise_file_metadata *entries =
        calloc(json_object_size(metadata) + 1, sizeof *entries);
    char(*texts)[24] = calloc(4, sizeof *texts);
    enum headwise_status status = tensors && entries && texts ? HEADWISE_OK : no_memory(w);
    n = 0;
    for (size_t f = 0; !status && f < files->n_files; f++) {
        for (size_t i = 0; i < headwise_safetensors_count(files->files[f]); i++)
            tensors[n++] = *changed(w, headwise_safetensors_at(files->files[f], i));
    }
    if (!status)
        json_object_foreach((json_t *)metadata, key, value) {
            const char *text = json_string_value(value);
            if (!text) { /* one of three sizes */
                snprintf(texts[n_texts], sizeof *texts, "%lld",
                         (long long)json_integer_value(value));
                text = texts[n_texts++];
            }
            entries[n_entries++] = (struct headwise_file_metadata){key, text};
        }
    if (!status)
        status = headwise_safetensors_write(w->model_path, tensors, n, entries, n_entries);
    free(texts);
    free(entries);
    free(tensors);
    return status;
}

/* The folder must hold no model; made tells whether it is new. */
static enum headwise_status prepare_folder(struct writing *w, bool *made) {
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
static enum headwise_status write_folder(struct writing *w) {
    bool made;
    json_t *metadata = json_object();
    enum headwise_status status = metadata ? collect_metadata(w, metadata) : no_memory(w);
    if (status) {
        json_decref(metadata);
        return status;
    }
    status = prepare_folder(w, &made);
    bool is_empty = !status;
    if (!status)
        status = write_config(w);
    if (!status)
        status = write_tensors(w, metadata);
    if (status && is_empty)
        unlink(w->config_path);
    if (status && made)
        rmdir(w->folder);
    json_decref(metadata);
    return status;
}

static enum headwise_status check_arguments(const headwise_checkpoint *model, const char *folder,
                                            const struct headwise_prune_options *options) {
    static const char where[] = "model_write_pruned";
    enum headwise_status status = headwise_io_need(where, "model", model);
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
headwise_checkpoint_write_pruned(headwise_checkpoint *model, const char *folder, const char *part,
                                 int64_t index, const struct headwise_prune_options *options) {
    enum headwise_status status = check_arguments(model, folder, options);
    if (status)
        return status;
    struct writing w = {.model = model, .folder = folder};
    status = headwise_io_plan_make(&w.before, model, part, index);
    if (!status)
        status = headwise_io_plan_prune(&w.after, &w.before, options);
    if (!status)
        status = list_pruned(&w);
    if (!status)
        status = make_config(&w);
    if (!status)
        status = headwise_io_change_tensors(&w.changes, &w.before, &w.after, options);
    if (!status)
        status = write_folder(&w);
    headwise_io_changes_free(&w.changes);
    headwise_io_heads_free(&w.before.heads);
    headwise_io_heads_free(&w.after.heads);
    json_decref(w.config);
    json_decref(w.pruned);
    free(w.pruned_text);
    free(w.config_path);
    free(w.model_path);
    return status;
}
