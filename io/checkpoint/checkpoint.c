#include "headwise-io/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/rotary.h"
#include "files/error.h"

/* The caller's options, whose struct may be an older and shorter one. */
static enum headwise_status copy_options(struct headwise_checkpoint_options *copy,
                                         const struct headwise_checkpoint_options *options) {
    if (options->size == 0 || options->size > sizeof *options)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "model_open: options->size is %zu, expected at most %zu",
                                options->size, sizeof *options);
    memcpy(copy, options, options->size);
    return HEADWISE_OK;
}

static enum headwise_status check_options(const struct headwise_checkpoint_options *options) {
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"n_heads", options->n_heads},
                 {"n_kv_heads", options->n_kv_heads},
                 {"head_dim", options->head_dim},
                 {"n_positions", options->n_positions}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].size < 0)
            return headwise_io_fail(HEADWISE_ERR_INVALID,
                                    "model_open: options->%s is %lld, expected 0 or more",
                                    sizes[i].name, (long long)sizes[i].size);
    }
    if (options->rotary < HEADWISE_CHECKPOINT_ROTARY_AUTO ||
        options->rotary > HEADWISE_CHECKPOINT_ROTARY_INTERLEAVED)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "model_open: options->rotary is %d, expected 0 to 2",
                                (int)options->rotary);
    if (options->weights < HEADWISE_CHECKPOINT_WEIGHTS_F32 ||
        options->weights > HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "model_open: options->weights is %d, expected 0 to 5",
                                (int)options->weights);
    return HEADWISE_OK;
}

/* The metadata of a single file as a JSON object of texts. */
static enum headwise_status read_metadata(headwise_checkpoint *model) {
    const headwise_safetensors *file = model->files.files[0];
    model->metadata = json_object();
    for (size_t i = 0; i < headwise_safetensors_metadata_count(file); i++) {
        const struct headwise_file_metadata *entry = headwise_safetensors_metadata_at(file, i);
        if (json_object_set_new(model->metadata, entry->key, json_string(entry->value)))
            return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", model->files.name);
    }
    return HEADWISE_OK;
}

/* Reads overrides, config.json and metadata, and says in which order they count. */
static enum headwise_status read_settings(headwise_checkpoint *model, const char *path,
                                          const struct headwise_checkpoint_options *options) {
    bool single = !strcmp(model->files.name, path);
    const char *config = single && options->config ? options->config : model->files.config;
    enum headwise_status status = HEADWISE_OK;
    if (options->overrides &&
        headwise_io_json_text(&model->overrides, options->overrides, "overrides"))
        return HEADWISE_ERR_INVALID; /* an argument, not a file */
    if (config && *config) {
        model->config_path = headwise_io_join("", config);
        status = model->config_path ? headwise_io_json_file(&model->config, model->config_path)
                                    : HEADWISE_ERR_NO_MEMORY;
    }
    if (!status)
        status = read_metadata(model);
    model->has_config = model->overrides || model->config;
    model->settings = (struct headwise_io_config){{
        {"overrides", model->overrides},
        {model->config_path ? model->config_path : "config.json", model->config},
        {model->files.name, model->config ? NULL : model->metadata},
    }};
    return status;
}

static enum headwise_status unknown_family(enum headwise_status status, const char *where,
                                           const char *name, bool types) {
    char known[600];
    headwise_io_family_list(known, sizeof known, types);
    return headwise_io_fail(status, "%s \"%s\" is not known, expected one of %s", where, name,
                            known);
}

static enum headwise_status find_family(headwise_checkpoint *model, const char *name) {
    const char *type = NULL;
    enum headwise_status status = headwise_io_config_text(&model->settings, "model_type", &type);
    if (name) {
        model->family = headwise_io_family_by_name(name);
        return model->family
                   ? HEADWISE_OK
                   : unknown_family(HEADWISE_ERR_INVALID, "model_open: family", name, false);
    }
    if (status)
        return status;
    if (type) {
        char where[300];
        snprintf(where, sizeof where, "%.280s: model_type", model->settings.sources[1].name);
        model->family = headwise_io_family_by_type(type);
        return model->family ? HEADWISE_OK : unknown_family(HEADWISE_ERR_FORMAT, where, type, true);
    }
    model->family = headwise_io_family_by_names(model);
    if (!model->family)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: no model_type is given and the tensors' names are those of "
                                "no known family",
                                model->files.name);
    return HEADWISE_OK;
}

static enum headwise_status open_model(headwise_checkpoint *model, const char *path,
                                       const struct headwise_checkpoint_options *options) {
    enum headwise_status status = headwise_io_files_open(&model->files, path);
    if (!status)
        status = read_settings(model, path, options);
    if (!status)
        status = find_family(model, options->family);
    if (status)
        return status;
    if (!headwise_io_part_at(model, 0)) {
        char stem[HEADWISE_IO_NAME];
        const char *prefixes = model->family->prefixes;
        headwise_io_stem(stem, prefixes, (int)strcspn(prefixes, "|"), &model->family->parts[0], 0);
        return headwise_io_fail(
            HEADWISE_ERR_FORMAT, "%s: has no layer of a %s model, expected tensors like \"%s%s\"",
            model->files.name, model->family->name, stem, model->family->parts[0].q);
    }
    headwise_io_settle_twin(model);
    return HEADWISE_OK;
}

enum headwise_status headwise_checkpoint_open(headwise_checkpoint **model, const char *path,
                                              const struct headwise_checkpoint_options *options) {
    struct headwise_checkpoint_options given = {.size = sizeof given};
    enum headwise_status status = headwise_io_need("model_open", "model", model);
    if (!status)
        status = headwise_io_need("model_open", "path", path);
    if (!status && options)
        status = copy_options(&given, options);
    if (!status)
        status = check_options(&given);
    if (status)
        return status;
    headwise_checkpoint *created = calloc(1, sizeof *created);
    if (!created)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
    created->options = given;
    created->options.family = created->options.config = created->options.overrides = NULL;
    status = open_model(created, path, &given);
    if (status)
        headwise_checkpoint_close(created);
    else
        *model = created;
    return status;
}

void headwise_checkpoint_close(headwise_checkpoint *model) {
    if (!model)
        return;
    headwise_io_tables_release(model->tables);
    headwise_io_files_close(&model->files);
    json_decref(model->overrides);
    json_decref(model->config);
    json_decref(model->metadata);
    free(model->config_path);
    free(model);
}
