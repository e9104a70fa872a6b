/* Labels of a classifier, and what becomes of its numbers. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "encode/encoder.h"
#include "encode/settings.h"

static const struct {
    const char *name;
    enum headwise_score score;
} activations[] = {
    {"Identity", HEADWISE_SCORE_RAW},
    {"Sigmoid", HEADWISE_SCORE_SIGMOID},
    {"Softmax", HEADWISE_SCORE_SOFTMAX},
};

/* id2label, which names every label or none. */
static enum headwise_status read_names(headwise_encoder *encoder,
                                       const struct headwise_config_object *config) {
    size_t n = (size_t)encoder->info.n_labels;
    struct headwise_config_object names = *config;
    enum headwise_status status = HEADWISE_OK;
    if (!headwise_config_get(config, "id2label", &names.slice))
        return HEADWISE_OK;
    encoder->labels = headwise_memory_take(&encoder->memory, n, sizeof *encoder->labels);
    if (!encoder->labels)
        return headwise_model_no_memory(config->file->name);
    memset(encoder->labels, 0, n * sizeof *encoder->labels);
    for (size_t i = 0; !status && i < n; i++) {
        char key[24];
        bool found;
        size_t at = encoder->texts.size;
        snprintf(key, sizeof key, "%zu", i);
        status = headwise_settings_text(&names, key, &encoder->texts, &found);
        if (!status && !found)
            status = headwise_config_fail(config, "id2label", "has no name for a label");
        encoder->labels[i] = (const char *)(uintptr_t)at;
    }
    for (size_t i = 0; !status && i < n; i++) /* places become addresses */
        encoder->labels[i] = encoder->texts.at + (uintptr_t)encoder->labels[i];
    encoder->info.labels = encoder->labels;
    return status;
}

/* The activation that a key names, as a Python class. */
static enum headwise_status read_activation(headwise_encoder *encoder,
                                            const struct headwise_config_object *object,
                                            const char *key, bool *found) {
    struct headwise_bytes name = {0};
    enum headwise_status status = headwise_settings_text(object, key, &name, found);
    size_t i = 0, n = sizeof activations / sizeof activations[0];
    if (!status && *found) {
        while (i < n && strcmp(activations[i].name, headwise_settings_class(name.at)) != 0)
            i++;
        if (i < n)
            encoder->info.score = activations[i].score;
        else
            status =
                headwise_model_fail(HEADWISE_ERR_UNSUPPORTED, "%s: %s: %s '%s' is not supported",
                                    object->file->name, object->part, key, name.at);
    }
    headwise_bytes_free(&encoder->memory, &name);
    return status;
}

/* What version 6 of sentence-transformers writes into a file of its own. */
static enum headwise_status read_new_activation(headwise_encoder *encoder, const char *path,
                                                bool *found) {
    struct headwise_settings settings;
    enum headwise_status status =
        headwise_settings_open(&settings, &encoder->memory, path,
                               "config_sentence_transformers.json", "sentence-transformers");
    if (!status)
        status = read_activation(encoder, &settings.object, "activation_fn", found);
    headwise_settings_close(&settings);
    return status;
}

/* Versions 1 to 5 write it into config.json; without it transformers' own rule holds. */
static enum headwise_status read_config(headwise_encoder *encoder,
                                        const struct headwise_config_object *config, bool found) {
    static const char *const kinds[] = {"regression", "single_label_classification",
                                        "multi_label_classification", NULL};
    struct headwise_config_object inner = *config;
    struct headwise_json_slice value;
    enum headwise_status status = HEADWISE_OK;
    size_t kind = encoder->info.n_labels == 1 ? 2 : 1;
    if (!found && headwise_config_get(config, "sentence_transformers", &inner.slice))
        status = read_activation(encoder, &inner, "activation_fn", &found);
    if (!status && !found)
        status = read_activation(encoder, config, "sbert_ce_default_activation_function", &found);
    if (!status && !found && headwise_config_get(config, "problem_type", &value))
        status = headwise_config_word(config, "problem_type", kinds, &kind);
    if (!status && !found)
        encoder->info.score = kind == 0   ? HEADWISE_SCORE_RAW
                              : kind == 1 ? HEADWISE_SCORE_SOFTMAX
                                          : HEADWISE_SCORE_SIGMOID;
    return status ? status : read_names(encoder, config);
}

enum headwise_status headwise_encoder_read_labels(headwise_encoder *encoder, const char *path) {
    struct headwise_settings settings;
    bool found = false;
    if (encoder->info.n_labels == 0)
        return HEADWISE_OK;
    enum headwise_status status = read_new_activation(encoder, path, &found);
    if (status)
        return status;
    status = headwise_settings_open(&settings, &encoder->memory, path, "config.json", "config");
    if (!status)
        status = read_config(encoder, &settings.object, found);
    headwise_settings_close(&settings);
    return status;
}
