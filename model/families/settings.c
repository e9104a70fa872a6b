/* Reads values of config.json, and says which of them cannot be used. */
#include "families/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "json/reader.h"

/* The value under the keys; false: there is none, or it is null. */
static bool find(struct headwise_json_reader *json, const struct headwise_description *description,
                 const headwise_checkpoint *checkpoint, const char *keys) {
    struct headwise_json_slice value;
    value.at = headwise_checkpoint_value(checkpoint, description->part, keys, &value.size);
    if (!value.at)
        return false;
    headwise_json_begin_slice(json, value.at, &value);
    return headwise_json_peek(json) != HEADWISE_JSON_NULL;
}

/* The first of the keys that has a value of its own. */
static int measure_key(const struct headwise_description *description,
                       const headwise_checkpoint *checkpoint, const char **keys) {
    for (const char *at = *keys; *at;) {
        char key[64];
        size_t size, length = strcspn(at, "|");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        if (headwise_checkpoint_value(checkpoint, description->part, key, &size)) {
            *keys = at;
            return (int)length;
        }
        at += length + (at[length] == '|');
    }
    return (int)strcspn(*keys, "|");
}

enum headwise_status headwise_setting_fail(enum headwise_status status,
                                           const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           const char *expected) {
    size_t size;
    const char *value = headwise_checkpoint_value(checkpoint, description->part, keys, &size);
    int length = measure_key(description, checkpoint, &keys);
    int shown = size > 100 ? 100 : (int)size;
    return headwise_model_fail(status, "%s: config.json: %.*s is %.*s, expected %s",
                               headwise_checkpoint_path(checkpoint), length, keys,
                               value ? shown : 7, value ? value : "missing", expected);
}

enum headwise_status headwise_setting_integer(const struct headwise_description *description,
                                              const headwise_checkpoint *checkpoint,
                                              const char *keys, int64_t least, int64_t *value) {
    struct headwise_json_reader json;
    struct headwise_json_number number;
    int64_t read;
    if (!find(&json, description, checkpoint, keys))
        return HEADWISE_OK;
    if (headwise_json_take_number(&json, &number) && headwise_json_to_int64(&number, &read) &&
        read >= least) {
        *value = read;
        return HEADWISE_OK;
    }
    return headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, keys,
                                 least > 0    ? "an integer of 1 or more"
                                 : least == 0 ? "an integer of 0 or more"
                                              : "an integer");
}

enum headwise_status headwise_setting_number(const struct headwise_description *description,
                                             const headwise_checkpoint *checkpoint,
                                             const char *keys, double *value) {
    struct headwise_json_reader json;
    struct headwise_json_number number;
    if (!find(&json, description, checkpoint, keys) ||
        (headwise_json_take_number(&json, &number) && headwise_json_to_double(&number, value)))
        return HEADWISE_OK;
    return headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, keys, "a number");
}

enum headwise_status headwise_setting_bool(const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           bool *value) {
    struct headwise_json_reader json;
    if (!find(&json, description, checkpoint, keys) || headwise_json_take_bool(&json, value))
        return HEADWISE_OK;
    return headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, keys,
                                 "true or false");
}

enum headwise_status headwise_setting_must_be(const struct headwise_description *description,
                                              const headwise_checkpoint *checkpoint,
                                              const char *keys, bool value) {
    bool found = value;
    enum headwise_status status = headwise_setting_bool(description, checkpoint, keys, &found);
    if (!status && found != value)
        status = headwise_setting_fail(HEADWISE_ERR_UNSUPPORTED, description, checkpoint, keys,
                                       value ? "true" : "false");
    return status;
}

enum headwise_status headwise_setting_text(const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           char text[HEADWISE_SETTING_SIZE]) {
    struct headwise_json_reader json;
    struct headwise_json_text found;
    text[0] = '\0';
    if (!find(&json, description, checkpoint, keys))
        return HEADWISE_OK;
    if (headwise_json_peek(&json) == HEADWISE_JSON_ARRAY) {
        headwise_json_enter_array(&json);
        if (!headwise_json_next_item(&json))
            return HEADWISE_OK;
    }
    if (!headwise_json_take_text(&json, &found) || found.has_nul ||
        found.size >= HEADWISE_SETTING_SIZE)
        return headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, keys,
                                     "a short text");
    headwise_json_copy(text, &found);
    text[found.size] = '\0';
    return HEADWISE_OK;
}

enum headwise_status headwise_setting_activation(const struct headwise_description *description,
                                                 const headwise_checkpoint *checkpoint,
                                                 const char *keys,
                                                 enum headwise_activation *activation) {
    static const struct {
        const char *name;
        enum headwise_activation activation;
    } known[] = {
        {"gelu", HEADWISE_ACTIVATION_GELU},
        {"gelu_python", HEADWISE_ACTIVATION_GELU},
        {"gelu_new", HEADWISE_ACTIVATION_GELU_TANH},
        {"gelu_fast", HEADWISE_ACTIVATION_GELU_TANH},
        {"gelu_pytorch_tanh", HEADWISE_ACTIVATION_GELU_TANH},
        {"gelu_python_tanh", HEADWISE_ACTIVATION_GELU_TANH},
        {"quick_gelu", HEADWISE_ACTIVATION_GELU_QUICK},
        {"silu", HEADWISE_ACTIVATION_SILU},
        {"swish", HEADWISE_ACTIVATION_SILU},
        {"relu", HEADWISE_ACTIVATION_RELU},
        {"tanh", HEADWISE_ACTIVATION_TANH},
        {"linear", HEADWISE_ACTIVATION_NONE},
    };
    char text[HEADWISE_SETTING_SIZE];
    enum headwise_status status = headwise_setting_text(description, checkpoint, keys, text);
    if (status || !*text)
        return status;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(text, known[i].name) == 0) {
            *activation = known[i].activation;
            return HEADWISE_OK;
        }
    }
    return headwise_setting_fail(HEADWISE_ERR_UNSUPPORTED, description, checkpoint, keys,
                                 "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu, silu, "
                                 "relu, tanh or linear");
}
