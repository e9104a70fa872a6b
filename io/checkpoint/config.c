/* Settings by key: overrides, config.json and metadata as one. */
#include "checkpoint/config.h"

#include <stdio.h>
#include <string.h>

#include "files/error.h"

enum headwise_json_kind headwise_io_value_kind(headwise_io_value value) {
    struct headwise_json_reader json;
    headwise_json_begin_slice(&json, value.at, &value);
    return value.size > 0 ? headwise_json_peek(&json) : HEADWISE_JSON_NOTHING;
}

/* The place of a key in a list separated by '|'; -1: none. */
static int place_in(const char *keys, const struct headwise_json_text *key) {
    int place = 0;
    for (const char *at = keys; *at; place++) {
        char name[64];
        size_t length = strcspn(at, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (length < sizeof name && headwise_json_equals(key, name))
            return place;
        at += length + (at[length] == '|');
    }
    return -1;
}

/* The value of the first of the keys that the source has, the last one of a key that comes twice;
 * *place is the key's. */
static headwise_io_value find_key(const struct headwise_io_source *source, const char *keys,
                                  int *place) {
    headwise_io_value found = {NULL, 0}, value;
    struct headwise_json_reader json;
    struct headwise_json_text key;
    *place = 0;
    if (source->object.size == 0)
        return found;
    headwise_json_begin_slice(&json, source->object.at, &source->object);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        int at = place_in(keys, &key);
        if (headwise_json_skip(&json, &value) && at >= 0 && (found.size == 0 || at <= *place)) {
            found = value;
            *place = at;
        }
    }
    return found;
}

headwise_io_value headwise_io_source_find(const struct headwise_io_source *source,
                                          const char *keys) {
    int place;
    return find_key(source, keys, &place);
}

headwise_io_value headwise_io_config_find(const struct headwise_io_config *config,
                                          const char *keys) {
    headwise_io_value value = {NULL, 0};
    for (int i = 0; i < HEADWISE_IO_N_SOURCES && value.size == 0; i++)
        value = headwise_io_source_find(&config->sources[i], keys);
    return value;
}

bool headwise_io_config_has(const struct headwise_io_config *config, const char *keys) {
    return headwise_io_config_find(config, keys).size > 0;
}

/* Writes a value without the blanks between its tokens, cut to size. */
static void print_value(char *text, size_t size, headwise_io_value value) {
    bool in_text = false, escaped = false;
    size_t n = 0;
    for (size_t i = 0; i < value.size && n + 1 < size; i++) {
        char c = value.at[i];
        if (!in_text && strchr(" \t\r\n", c))
            continue;
        if (c == '"' && !escaped)
            in_text = !in_text;
        escaped = c == '\\' && !escaped;
        text[n++] = c;
    }
    text[n] = '\0';
}

enum headwise_status headwise_io_config_fail(const struct headwise_io_config *config,
                                             const char *keys, const char *expected) {
    /* A missing key is missed in config.json, or in the metadata where there is none. */
    const struct headwise_io_source *source =
        &config->sources[config->sources[1].object.size > 0 || config->sources[2].object.size == 0
                             ? 1
                             : 2];
    headwise_io_value value = {NULL, 0};
    char text[201] = "missing";
    int place = 0;
    for (int i = 0; i < HEADWISE_IO_N_SOURCES && value.size == 0; i++) {
        value = find_key(&config->sources[i], keys, &place);
        if (value.size > 0)
            source = &config->sources[i];
    }
    for (; place > 0; place--)
        keys += strcspn(keys, "|") + 1;
    if (value.size > 0)
        print_value(text, sizeof text, value);
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: %.*s is %s, expected %s", source->name,
                            (int)strcspn(keys, "|"), keys, text, expected);
}

/* A number, true, false or null, or a text that is one. */
struct scalar {
    enum headwise_json_kind kind; /* NOTHING where it is something else */
    struct headwise_json_number number;
    bool is_true;
    char text[64]; /* what the number points to */
};

/* Puts the reader on the text that a value is, which must be one value alone. */
static bool open_text(struct scalar *scalar, struct headwise_json_reader *json) {
    struct headwise_json_text text;
    struct headwise_json_slice inner;
    if (!headwise_json_take_text(json, &text) || text.size > sizeof scalar->text)
        return false;
    headwise_json_copy(scalar->text, &text);
    headwise_json_begin(json, scalar->text, text.size);
    if (!headwise_json_skip(json, &inner) || !headwise_json_end(json))
        return false;
    headwise_json_begin(json, scalar->text, text.size);
    return true;
}

static void read_scalar(struct scalar *scalar, headwise_io_value value) {
    struct headwise_json_reader json;
    scalar->kind = HEADWISE_JSON_NOTHING;
    headwise_json_begin_slice(&json, value.at, &value);
    if (headwise_json_peek(&json) == HEADWISE_JSON_TEXT && !open_text(scalar, &json))
        return;
    scalar->kind = headwise_json_peek(&json);
    if (scalar->kind == HEADWISE_JSON_NUMBER)
        headwise_json_take_number(&json, &scalar->number);
    else if (scalar->kind == HEADWISE_JSON_BOOL)
        headwise_json_take_bool(&json, &scalar->is_true);
}

/* Finds a value; false where it is absent or null, which leaves what the caller has. */
static bool find_scalar(struct scalar *scalar, const struct headwise_io_config *config,
                        const char *keys) {
    headwise_io_value value = headwise_io_config_find(config, keys);
    if (value.size > 0)
        read_scalar(scalar, value);
    return value.size > 0 && scalar->kind != HEADWISE_JSON_NULL;
}

enum headwise_status headwise_io_config_integer(const struct headwise_io_config *config,
                                                const char *keys, int64_t minimum, int64_t *value) {
    struct scalar scalar;
    int64_t read;
    if (!find_scalar(&scalar, config, keys))
        return HEADWISE_OK;
    if (scalar.kind == HEADWISE_JSON_NUMBER && headwise_json_to_int64(&scalar.number, &read) &&
        read >= minimum) {
        *value = read;
        return HEADWISE_OK;
    }
    return headwise_io_config_fail(config, keys,
                                   minimum > 0    ? "an integer of 1 or more"
                                   : minimum == 0 ? "an integer of 0 or more"
                                                  : "an integer");
}

enum headwise_status headwise_io_config_number(const struct headwise_io_config *config,
                                               const char *keys, double *value) {
    struct scalar scalar;
    if (!find_scalar(&scalar, config, keys) ||
        (scalar.kind == HEADWISE_JSON_NUMBER && headwise_json_to_double(&scalar.number, value)))
        return HEADWISE_OK;
    return headwise_io_config_fail(config, keys, "a number");
}

enum headwise_status headwise_io_config_bool(const struct headwise_io_config *config,
                                             const char *keys, bool *value) {
    struct scalar scalar;
    if (!find_scalar(&scalar, config, keys))
        return HEADWISE_OK;
    if (scalar.kind != HEADWISE_JSON_BOOL)
        return headwise_io_config_fail(config, keys, "true or false");
    *value = scalar.is_true;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_config_text(const struct headwise_io_config *config,
                                             const char *keys, char *value, size_t size) {
    headwise_io_value found = headwise_io_config_find(config, keys);
    enum headwise_json_kind kind = headwise_io_value_kind(found);
    struct headwise_json_reader json;
    struct headwise_json_text text;
    if (kind == HEADWISE_JSON_NOTHING || kind == HEADWISE_JSON_NULL)
        return HEADWISE_OK;
    headwise_json_begin_slice(&json, found.at, &found);
    if (kind != HEADWISE_JSON_TEXT || !headwise_json_take_text(&json, &text) || text.has_nul ||
        text.is_broken || text.size >= size)
        return headwise_io_config_fail(config, keys, "text");
    headwise_json_copy(value, &text);
    value[text.size] = '\0';
    return HEADWISE_OK;
}

struct headwise_io_config headwise_io_config_section(const struct headwise_io_config *config,
                                                     const char *key) {
    struct headwise_io_config section = *config;
    char dict[64];
    bool any = false;
    snprintf(dict, sizeof dict, "%s_dict", key);
    for (int i = 0; i < HEADWISE_IO_N_SOURCES; i++) {
        headwise_io_value object = headwise_io_source_find(&config->sources[i], dict);
        if (headwise_io_value_kind(object) != HEADWISE_JSON_OBJECT)
            object = headwise_io_source_find(&config->sources[i], key);
        bool is_object = headwise_io_value_kind(object) == HEADWISE_JSON_OBJECT;
        any = any || is_object;
        /* The caller's overrides count inside and outside of the section. */
        if (i > 0 || is_object)
            section.sources[i].object = is_object ? object : (headwise_io_value){NULL, 0};
    }
    return any ? section : *config;
}

struct headwise_io_config headwise_io_config_only(const struct headwise_io_config *config,
                                                  int index) {
    struct headwise_io_config only = *config;
    for (int i = 0; i < HEADWISE_IO_N_SOURCES; i++) {
        if (i != index)
            only.sources[i].object = (headwise_io_value){NULL, 0};
    }
    return only;
}

enum headwise_status headwise_io_json_object(struct headwise_json_slice *object, const char *text,
                                             size_t size, const char *name) {
    struct headwise_json_reader json;
    char line[200];
    headwise_json_begin(&json, text, size);
    headwise_json_skip(&json, object);
    headwise_json_end(&json);
    if (json.error) {
        headwise_json_describe(line, sizeof line, &json);
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: is not usable JSON: %s", name, line);
    }
    if (headwise_io_value_kind(*object) != HEADWISE_JSON_OBJECT)
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: is no JSON object", name);
    return HEADWISE_OK;
}
