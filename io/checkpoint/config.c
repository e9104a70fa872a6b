#include "checkpoint/config.h"

#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "files/map.h"

/* The value of one key, given by its length. */
static const json_t *get(const json_t *object, const char *key, size_t length) {
    char name[64];
    if (length >= sizeof name)
        return NULL;
    memcpy(name, key, length);
    name[length] = '\0';
    return json_object_get(object, name);
}

const json_t *headwise_io_config_find(const struct headwise_io_config *config, const char *keys,
                                      const struct headwise_io_source **source) {
    for (size_t i = 0; i < sizeof config->sources / sizeof *config->sources; i++) {
        for (const char *key = keys; *key;) {
            size_t length = strcspn(key, "|");
            const json_t *value = get(config->sources[i].object, key, length);
            if (value) {
                if (source)
                    *source = &config->sources[i];
                return value;
            }
            key += length + (key[length] == '|');
        }
    }
    return NULL;
}

bool headwise_io_config_has(const struct headwise_io_config *config, const char *keys) {
    return headwise_io_config_find(config, keys, NULL) != NULL;
}

/* The key of keys that the source has. */
static int present_key(const struct headwise_io_source *source, const char *keys,
                       const char **found) {
    for (const char *key = keys; *key;) {
        size_t length = strcspn(key, "|");
        if (get(source->object, key, length)) {
            *found = key;
            return (int)length;
        }
        key += length + (key[length] == '|');
    }
    *found = keys;
    return (int)strcspn(keys, "|");
}

enum headwise_status headwise_io_config_fail(const struct headwise_io_config *config,
                                             const char *keys, const char *expected) {
    /* A missing key is missed in config.json, or in the metadata where there is none. */
    const struct headwise_io_source *source =
        config->sources[1].object || !config->sources[2].object ? &config->sources[1]
                                                                : &config->sources[2];
    const json_t *value = headwise_io_config_find(config, keys, &source);
    const char *key;
    int length = present_key(source, keys, &key);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: %.*s is %.200s, expected %s", source->name, length,
                     key, text ? text : "missing", expected);
    free(text);
    return HEADWISE_ERR_FORMAT;
}

/* Whether value is text that is one JSON value, as in metadata; *parsed is then new. */
static const json_t *scalar(const json_t *value, json_t **parsed) {
    *parsed = NULL;
    if (json_is_string(value))
        *parsed = json_loads(json_string_value(value), JSON_DECODE_ANY, NULL);
    return *parsed ? *parsed : value;
}

enum headwise_status headwise_io_config_integer(const struct headwise_io_config *config,
                                                const char *keys, int64_t minimum, int64_t *value) {
    json_t *parsed;
    const json_t *found = scalar(headwise_io_config_find(config, keys, NULL), &parsed);
    bool absent = !found || json_is_null(found);
    bool right = json_is_integer(found) && json_integer_value(found) >= minimum;
    if (right)
        *value = json_integer_value(found);
    json_decref(parsed);
    if (absent || right)
        return HEADWISE_OK;
    return headwise_io_config_fail(config, keys,
                                   minimum > 0    ? "an integer of 1 or more"
                                   : minimum == 0 ? "an integer of 0 or more"
                                                  : "an integer");
}

enum headwise_status headwise_io_config_number(const struct headwise_io_config *config,
                                               const char *keys, double *value) {
    json_t *parsed;
    const json_t *found = scalar(headwise_io_config_find(config, keys, NULL), &parsed);
    bool absent = !found || json_is_null(found), right = json_is_number(found);
    if (right)
        *value = json_number_value(found);
    json_decref(parsed);
    return absent || right ? HEADWISE_OK : headwise_io_config_fail(config, keys, "a number");
}

enum headwise_status headwise_io_config_bool(const struct headwise_io_config *config,
                                             const char *keys, bool *value) {
    json_t *parsed;
    const json_t *found = scalar(headwise_io_config_find(config, keys, NULL), &parsed);
    bool absent = !found || json_is_null(found), right = json_is_boolean(found);
    if (right)
        *value = json_is_true(found);
    json_decref(parsed);
    return absent || right ? HEADWISE_OK : headwise_io_config_fail(config, keys, "true or false");
}

enum headwise_status headwise_io_config_text(const struct headwise_io_config *config,
                                             const char *keys, const char **value) {
    const json_t *found = headwise_io_config_find(config, keys, NULL);
    if (!found || json_is_null(found))
        return HEADWISE_OK;
    if (!json_is_string(found))
        return headwise_io_config_fail(config, keys, "text");
    *value = json_string_value(found);
    return HEADWISE_OK;
}

struct headwise_io_config headwise_io_config_section(const struct headwise_io_config *config,
                                                     const char *key) {
    struct headwise_io_config section = *config;
    bool any = false;
    for (size_t i = 0; i < sizeof config->sources / sizeof *config->sources; i++) {
        const json_t *object = json_object_get(config->sources[i].object, key);
        any = any || json_is_object(object);
        /* The caller's overrides count inside and outside of the section. */
        if (i > 0 || json_is_object(object))
            section.sources[i].object = json_is_object(object) ? object : NULL;
    }
    return any ? section : *config;
}

static enum headwise_status keep_object(json_t **object, json_t *root, const char *name,
                                        const json_error_t *error) {
    if (!root)
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: is not usable JSON: %s (line %d)", name,
                                error->text, error->line);
    if (!json_is_object(root)) {
        json_decref(root);
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: is no JSON object", name);
    }
    *object = root;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_json_file(json_t **object, const char *path) {
    struct headwise_io_map map;
    enum headwise_status status = headwise_io_map_file(&map, path);
    if (status)
        return status;
    json_error_t error;
    json_t *root =
        json_loadb((const char *)map.bytes, map.size_bytes, JSON_REJECT_DUPLICATES, &error);
    headwise_io_unmap(&map);
    return keep_object(object, root, path, &error);
}

enum headwise_status headwise_io_json_text(json_t **object, const char *text, const char *name) {
    json_error_t error;
    return keep_object(object, json_loads(text, JSON_REJECT_DUPLICATES, &error), name, &error);
}
