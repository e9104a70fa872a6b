/* modules.json: the network, its pooling, and what follows. */
#include <string.h>

#include "base/error.h"
#include "encode/encoder.h"
#include "encode/settings.h"

static const char *const pooling_words[] = {
    [HEADWISE_POOL_CLS] = "cls",
    [HEADWISE_POOL_MAX] = "max",
    [HEADWISE_POOL_MEAN] = "mean",
    [HEADWISE_POOL_MEAN_SQRT] = "mean_sqrt_len_tokens",
    [HEADWISE_POOL_WEIGHTED_MEAN] = "weightedmean",
    [HEADWISE_POOL_LAST] = "lasttoken",
    NULL,
};

/* Versions 2 to 5 have a key for each, and join them in this order, whatever the file's is. */
static const struct {
    const char *key;
    enum headwise_pooling pooling;
} pooling_keys[] = {
    {"pooling_mode_cls_token", HEADWISE_POOL_CLS},
    {"pooling_mode_max_tokens", HEADWISE_POOL_MAX},
    {"pooling_mode_mean_tokens", HEADWISE_POOL_MEAN},
    {"pooling_mode_mean_sqrt_len_tokens", HEADWISE_POOL_MEAN_SQRT},
    {"pooling_mode_weightedmean_tokens", HEADWISE_POOL_WEIGHTED_MEAN},
    {"pooling_mode_lasttoken", HEADWISE_POOL_LAST},
};

static enum headwise_status add_pooling(headwise_encoder *encoder,
                                        const struct headwise_config_object *object,
                                        enum headwise_pooling pooling) {
    for (int i = 0; i < encoder->n_poolings; i++) {
        if (encoder->poolings[i] == pooling)
            return headwise_config_fail(object, "pooling_mode", "names one twice");
    }
    encoder->poolings[encoder->n_poolings++] = pooling;
    return HEADWISE_OK;
}

/* pooling_mode of version 6: a word, or a list of words. */
static enum headwise_status read_words(headwise_encoder *encoder,
                                       const struct headwise_config_object *object,
                                       const struct headwise_json_slice *mode) {
    struct headwise_json_reader json;
    struct headwise_json_text text;
    size_t word;
    if (headwise_config_kind(mode) == HEADWISE_JSON_TEXT) {
        enum headwise_status status =
            headwise_config_word(object, "pooling_mode", pooling_words, &word);
        return status ? status : add_pooling(encoder, object, (enum headwise_pooling)word);
    }
    headwise_config_read(object, &json, mode);
    headwise_json_enter_array(&json);
    while (headwise_json_next_item(&json) && headwise_json_take_text(&json, &text)) {
        for (word = 0; pooling_words[word] && !headwise_json_equals(&text, pooling_words[word]);)
            word++;
        if (!pooling_words[word])
            return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                       "%s: %s: pooling_mode '%.*s' is not supported",
                                       object->file->name, object->part,
                                       (int)(text.raw.size < 80 ? text.raw.size : 80), text.raw.at);
        enum headwise_status status = add_pooling(encoder, object, (enum headwise_pooling)word);
        if (status)
            return status;
    }
    return json.error ? headwise_config_fail(object, "pooling_mode", "is no word or list of words")
                      : HEADWISE_OK;
}

static enum headwise_status read_keys(headwise_encoder *encoder,
                                      const struct headwise_config_object *object) {
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < sizeof pooling_keys / sizeof pooling_keys[0]; i++) {
        /* The mean is what sentence-transformers takes where the file does not say. */
        bool wanted = pooling_keys[i].pooling == HEADWISE_POOL_MEAN;
        status = headwise_config_bool(object, pooling_keys[i].key, false, &wanted);
        if (!status && wanted)
            status = add_pooling(encoder, object, pooling_keys[i].pooling);
    }
    return status;
}

static enum headwise_status check_width(const struct headwise_config_object *object,
                                        const char *key, int64_t expected) {
    size_t width = (size_t)expected;
    enum headwise_status status = headwise_config_size(object, key, false, &width);
    if (!status && width != (size_t)expected)
        return headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: %s: %s is %zu, expected %lld",
                                   object->file->name, object->part, key, width,
                                   (long long)expected);
    return status;
}

static enum headwise_status read_pooling(headwise_encoder *encoder,
                                         const struct headwise_config_object *object) {
    struct headwise_json_slice mode;
    int64_t d_model = headwise_transformer_describe(encoder->transformer)->d_model;
    bool include_prompt = true;
    enum headwise_status status = headwise_config_get(object, "pooling_mode", &mode)
                                      ? read_words(encoder, object, &mode)
                                      : read_keys(encoder, object);
    if (!status && encoder->n_poolings == 0)
        status = headwise_config_fail(object, "pooling_mode", "names no pooling");
    if (!status)
        status = check_width(object, "word_embedding_dimension", d_model);
    if (!status)
        status = check_width(object, "embedding_dimension", d_model);
    if (!status)
        status = headwise_config_bool(object, "include_prompt", false, &include_prompt);
    encoder->leaves_prompt_out = !include_prompt;
    encoder->info.d_vector = encoder->n_poolings * d_model;
    return status;
}

/* A step of a folder: what modules.json says of it. */
struct module {
    struct headwise_bytes path; /* of its folder */
    struct headwise_bytes type; /* a Python name */
    const char *kind;           /* what stands behind its last dot */
};

static enum headwise_status open_dense(headwise_encoder *encoder, headwise_context *context,
                                       const struct module *module) {
    struct headwise_settings settings;
    enum headwise_status status = headwise_settings_open(&settings, &encoder->memory,
                                                         module->path.at, "config.json", "Dense");
    if (!status)
        status = headwise_encoder_add_dense(encoder, context, module->path.at, &settings.object);
    headwise_settings_close(&settings);
    return status;
}

static enum headwise_status open_pooling(headwise_encoder *encoder, const struct module *module) {
    struct headwise_settings settings;
    enum headwise_status status = headwise_settings_open(&settings, &encoder->memory,
                                                         module->path.at, "config.json", "Pooling");
    if (!status && !settings.is_there)
        status = headwise_model_fail(HEADWISE_ERR_IO, "%s: is not there, expected the pooling",
                                     settings.path.at);
    if (!status)
        status = read_pooling(encoder, &settings.object);
    headwise_settings_close(&settings);
    return status;
}

static enum headwise_status add_module(headwise_encoder *encoder, headwise_context *context,
                                       const struct module *module, const char *file) {
    bool is_pooling = strcmp(module->kind, "Pooling") == 0;
    if (is_pooling && encoder->n_poolings == 0)
        return open_pooling(encoder, module);
    if (!is_pooling && encoder->n_poolings > 0 && strcmp(module->kind, "Dense") == 0)
        return open_dense(encoder, context, module);
    if (!is_pooling && encoder->n_poolings > 0 && strcmp(module->kind, "Normalize") == 0)
        return headwise_encoder_add_normalize(encoder, file);
    if (strcmp(module->kind, "Dropout") == 0) /* does nothing once a model is trained */
        return HEADWISE_OK;
    return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                               "%s: module '%s' is not supported at its place, expected "
                               "Transformer, Pooling, then Dense and Normalize",
                               file, module->type.at);
}

/* Whether a path of modules.json stays inside the folder. */
static bool is_inside(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return false;
    }
    return path[0] != '/';
}

static enum headwise_status read_module(struct module *module,
                                        const struct headwise_config_object *object,
                                        const char *folder) {
    const struct headwise_allocator *memory = object->file->memory;
    struct headwise_bytes name = {0};
    bool has_type, has_path;
    module->path.size = module->type.size = 0;
    enum headwise_status status = headwise_settings_text(object, "type", &module->type, &has_type);
    if (!status)
        status = headwise_settings_text(object, "path", &name, &has_path);
    if (!status && (!has_type || !has_path))
        status = headwise_config_fail(object, has_type ? "path" : "type", "is missing");
    if (!status && !is_inside(name.at))
        status = headwise_config_fail(object, "path", "leads out of the folder");
    if (!status)
        status = headwise_settings_join(memory, &module->path, folder, name.at);
    headwise_bytes_free(memory, &name);
    if (!status)
        module->kind = headwise_settings_class(module->type.at);
    return status;
}

static enum headwise_status read_list(headwise_encoder *encoder, headwise_context *context,
                                      const char *path, struct headwise_settings *settings,
                                      const struct headwise_encoder_options *options) {
    struct headwise_config_object item = settings->object;
    struct headwise_json_reader json;
    struct module module = {0};
    enum headwise_status status = HEADWISE_OK;
    if (headwise_config_kind(&settings->object.slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(&settings->object, "the file", "is no list");
    headwise_config_read(&settings->object, &json, &settings->object.slice);
    headwise_json_enter_array(&json);
    while (!status && headwise_json_next_item(&json)) {
        headwise_json_skip(&json, &item.slice);
        status = read_module(&module, &item, path);
        if (status)
            break;
        if (encoder->transformer)
            status = add_module(encoder, context, &module, settings->path.at);
        else if (strcmp(module.kind, "Transformer") == 0)
            status = headwise_encoder_open_network(encoder, context, module.path.at, options);
        else
            status = headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                         "%s: module '%s' is not supported, expected Transformer "
                                         "as the first one",
                                         settings->path.at, module.type.at);
    }
    headwise_bytes_free(&encoder->memory, &module.path);
    headwise_bytes_free(&encoder->memory, &module.type);
    if (!status && !encoder->transformer)
        status = headwise_config_fail(&settings->object, "the file", "names no module");
    return status;
}

enum headwise_status headwise_encoder_read_modules(headwise_encoder *encoder,
                                                   headwise_context *context, const char *path,
                                                   const struct headwise_encoder_options *options) {
    struct headwise_settings settings;
    enum headwise_status status =
        headwise_settings_open(&settings, &encoder->memory, path, "modules.json", "modules");
    if (!status && settings.is_there)
        status = read_list(encoder, context, path, &settings, options);
    else if (!status)
        status = headwise_encoder_open_network(encoder, context, path, options);
    headwise_settings_close(&settings);
    if (status)
        return status;
    const struct headwise_transformer_info *info =
        headwise_transformer_describe(encoder->transformer);
    if (encoder->n_poolings == 0 && info->n_labels > 0 && !info->logits_of_rows) {
        encoder->info.n_labels = info->n_labels;
        return HEADWISE_OK;
    }
    if (encoder->n_poolings == 0) { /* as sentence-transformers does */
        encoder->poolings[encoder->n_poolings++] = HEADWISE_POOL_MEAN;
        encoder->info.d_vector = info->d_model;
    }
    return HEADWISE_OK;
}
