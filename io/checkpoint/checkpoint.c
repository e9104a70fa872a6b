/* Opening a checkpoint: its files, its settings, its family. */
#include "headwise-io/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/rotary.h"
#include "files/error.h"
#include "json/writer.h"

/* The caller's options. Their size is this version's, or a longer one whose further fields are
 * zero: a struct of a newer version that asks for nothing new. */
static enum headwise_status copy_options(struct headwise_checkpoint_options *copy,
                                         const struct headwise_checkpoint_options *options) {
    const unsigned char *bytes = (const unsigned char *)options;
    enum { MOST = 4096 }; /* no struct is longer */
    if (options->size < sizeof *options || options->size > MOST)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "model_open: options->size is %zu, expected %zu", options->size,
                                sizeof *options);
    for (size_t i = sizeof *options; i < options->size; i++) {
        if (bytes[i] != 0)
            return headwise_io_fail(HEADWISE_ERR_INVALID,
                                    "model_open: options has fields set beyond byte %zu, expected "
                                    "zeros: this version does not know them",
                                    sizeof *options);
    }
    *copy = *options;
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
        options->weights > HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "model_open: options->weights is %d, expected 0 to 6",
                                (int)options->weights);
    return HEADWISE_OK;
}

/* config.json is looked through for each key, so that a limit bounds the time of a layer. */
enum { MOST_CONFIG_BYTES = 8000000 };

/* The metadata of a single file as a JSON object of texts. */
static enum headwise_status read_metadata(headwise_checkpoint *checkpoint,
                                          struct headwise_json_slice *object) {
    const headwise_safetensors *file = checkpoint->files.files[0];
    struct headwise_json_writer json = {0};
    headwise_json_write_raw(&json, "{");
    for (size_t i = 0; i < headwise_safetensors_metadata_count(file); i++) {
        const struct headwise_file_metadata *entry = headwise_safetensors_metadata_at(file, i);
        headwise_json_write_raw(&json, i > 0 ? "," : "");
        headwise_json_write_text(&json, entry->key);
        headwise_json_write_raw(&json, ":");
        headwise_json_write_text(&json, entry->value);
    }
    headwise_json_write_raw(&json, "}");
    checkpoint->metadata = json.text;
    *object = (struct headwise_json_slice){json.text, json.size};
    return json.is_out_of_memory ? headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                                                    checkpoint->files.name)
                                 : HEADWISE_OK;
}

/* Keeps the overrides, an argument and no file. */
static enum headwise_status read_overrides(headwise_checkpoint *checkpoint, const char *overrides,
                                           struct headwise_json_slice *object) {
    if (!overrides)
        return HEADWISE_OK;
    checkpoint->overrides = headwise_io_join("", overrides);
    if (!checkpoint->overrides)
        return HEADWISE_ERR_NO_MEMORY;
    return headwise_io_json_object(object, checkpoint->overrides, strlen(overrides), "overrides")
               ? HEADWISE_ERR_INVALID
               : HEADWISE_OK;
}

static enum headwise_status read_config(headwise_checkpoint *checkpoint, const char *path,
                                        struct headwise_json_slice *object) {
    if (!path || !*path)
        return HEADWISE_OK;
    checkpoint->config_path = headwise_io_join("", path);
    if (!checkpoint->config_path)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status =
        headwise_io_read_file(&checkpoint->config, checkpoint->config_path, MOST_CONFIG_BYTES);
    return status ? status
                  : headwise_io_json_object(object, (const char *)checkpoint->config.bytes,
                                            checkpoint->config.size_bytes, checkpoint->config_path);
}

/* Reads overrides, config.json and metadata, and says in which order they count. */
static enum headwise_status read_settings(headwise_checkpoint *checkpoint, const char *path,
                                          const struct headwise_checkpoint_options *options) {
    bool single = !strcmp(checkpoint->files.name, path);
    const char *config = single && options->config ? options->config : checkpoint->files.config;
    struct headwise_json_slice objects[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    enum headwise_status status = read_overrides(checkpoint, options->overrides, &objects[0]);
    if (!status)
        status = read_config(checkpoint, config, &objects[1]);
    if (!status)
        status = read_metadata(checkpoint, &objects[2]);
    bool has_file = objects[1].size > 0;
    checkpoint->has_config = objects[0].size > 0 || has_file;
    checkpoint->settings = (struct headwise_io_config){{
        {"overrides", objects[0]},
        {checkpoint->config_path ? checkpoint->config_path : "config.json", objects[1]},
        {checkpoint->files.name, has_file ? (struct headwise_json_slice){NULL, 0} : objects[2]},
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

/* The family that the caller or the settings name; NULL: none does. */
static enum headwise_status name_family(headwise_checkpoint *checkpoint, const char *name) {
    char type[64] = "", where[300];
    if (name) {
        checkpoint->family = headwise_io_family_by_name(name);
        return checkpoint->family
                   ? HEADWISE_OK
                   : unknown_family(HEADWISE_ERR_INVALID, "model_open: family", name, false);
    }
    enum headwise_status status =
        headwise_io_config_text(&checkpoint->settings, "model_type", type, sizeof type);
    if (status || !*type)
        return status ? status
                      : headwise_io_family_by_architecture(checkpoint, &checkpoint->family);
    checkpoint->family = headwise_io_family_by_type(type);
    snprintf(where, sizeof where, "%.280s: model_type", checkpoint->settings.sources[1].name);
    return checkpoint->family ? HEADWISE_OK
                              : unknown_family(HEADWISE_ERR_FORMAT, where, type, true);
}

/* Finds the layers: under the names that families know, or behind a wrapper's prefix. */
static enum headwise_status find_layers(headwise_checkpoint *checkpoint) {
    const struct headwise_io_family *named = checkpoint->family;
    size_t at = 0;
    do {
        checkpoint->family = named ? named : headwise_io_family_by_names(checkpoint);
        if (checkpoint->family && headwise_io_part_at(checkpoint, 0))
            return HEADWISE_OK;
    } while (headwise_io_files_next_prefix(&checkpoint->files, &at));
    if (!named)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: no model_type is given and the tensors' names are those of "
                                "no known family",
                                checkpoint->files.name);
    char stem[HEADWISE_IO_NAME];
    headwise_io_stem(stem, named->prefixes, (int)strcspn(named->prefixes, "|"), &named->parts[0],
                     0);
    return headwise_io_fail(HEADWISE_ERR_FORMAT,
                            "%s: has no layer of a %s model, expected tensors like \"%s%s\"",
                            checkpoint->files.name, named->name, stem, named->parts[0].q);
}

static enum headwise_status open_checkpoint(headwise_checkpoint *checkpoint, const char *path,
                                            const struct headwise_checkpoint_options *options) {
    checkpoint->files.copied = options->read_files;
    enum headwise_status status = headwise_io_files_open(&checkpoint->files, path);
    if (!status)
        status = read_settings(checkpoint, path, options);
    if (!status)
        status = name_family(checkpoint, options->family);
    if (!status)
        status = find_layers(checkpoint);
    if (!status)
        headwise_io_settle_twin(checkpoint);
    return status;
}

enum headwise_status headwise_checkpoint_open(headwise_checkpoint **checkpoint, const char *path,
                                              const struct headwise_checkpoint_options *options) {
    struct headwise_checkpoint_options given = {.size = sizeof given};
    enum headwise_status status = headwise_io_need("model_open", "model", checkpoint);
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
    status = open_checkpoint(created, path, &given);
    if (status)
        headwise_checkpoint_close(created);
    else
        *checkpoint = created;
    return status;
}

void headwise_checkpoint_close(headwise_checkpoint *checkpoint) {
    if (!checkpoint)
        return;
    headwise_io_tables_release(checkpoint->tables);
    headwise_io_files_close(&checkpoint->files);
    headwise_io_unmap(&checkpoint->config);
    free(checkpoint->overrides);
    free(checkpoint->metadata);
    free(checkpoint->config_path);
    free(checkpoint);
}
