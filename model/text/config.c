/* Reads values of tokenizer.json and says which of them are not as they should be. */
#include "text/config.h"

#include <string.h>

#include "base/error.h"

enum { MAX_NESTING = 8 };

enum headwise_status headwise_config_fail(const struct headwise_config_object *object,
                                          const char *key, const char *problem) {
    return headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: %s: %s %s", object->file->name,
                               object->part, key, problem);
}

enum headwise_status headwise_config_broken(const struct headwise_config_object *object,
                                            const struct headwise_json_reader *json) {
    char line[200];
    headwise_json_describe(line, sizeof line, json);
    return headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: %s: %s", object->file->name, object->part,
                               line);
}

void headwise_config_read(const struct headwise_config_object *object,
                          struct headwise_json_reader *json,
                          const struct headwise_json_slice *slice) {
    headwise_json_begin_slice(json, object->file->whole, slice);
}

enum headwise_json_kind headwise_config_kind(const struct headwise_json_slice *slice) {
    struct headwise_json_reader json;
    headwise_json_begin_slice(&json, slice->at, slice);
    return headwise_json_peek(&json);
}

void headwise_config_list(struct headwise_config_members *members,
                          struct headwise_config_object *object) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    members->n = 0;
    members->of = object->slice.at;
    object->members = members;
    headwise_json_begin_slice(&json, object->slice.at, &object->slice);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        if (members->n == sizeof members->at / sizeof members->at[0]) {
            members->of = NULL;
            return;
        }
        members->at[members->n].key = key;
        headwise_json_skip(&json, &members->at[members->n++].value);
    }
}

/* As headwise_json_find(): the last value of a key counts. */
static bool find(const struct headwise_config_object *object, const char *key,
                 struct headwise_json_slice *value) {
    const struct headwise_config_members *members = object->members;
    if (!members || members->of != object->slice.at)
        return headwise_json_find(value, &object->slice, key) > 0;
    for (size_t i = members->n; i-- > 0;) {
        if (headwise_json_equals(&members->at[i].key, key)) {
            *value = members->at[i].value;
            return true;
        }
    }
    return false;
}

bool headwise_config_get(const struct headwise_config_object *object, const char *key,
                         struct headwise_json_slice *value) {
    return headwise_config_kind(&object->slice) == HEADWISE_JSON_OBJECT &&
           find(object, key, value) && headwise_config_kind(value) != HEADWISE_JSON_NULL;
}

enum headwise_status headwise_config_bool(const struct headwise_config_object *object,
                                          const char *key, bool needed, bool *value) {
    struct headwise_json_slice slice;
    if (!headwise_config_get(object, key, &slice))
        return needed ? headwise_config_fail(object, key, "is missing") : HEADWISE_OK;
    struct headwise_json_reader json;
    headwise_config_read(object, &json, &slice);
    return headwise_json_take_bool(&json, value)
               ? HEADWISE_OK
               : headwise_config_fail(object, key, "is not true or false");
}

enum headwise_status headwise_config_size(const struct headwise_config_object *object,
                                          const char *key, bool needed, size_t *value) {
    struct headwise_json_slice slice;
    if (!headwise_config_get(object, key, &slice))
        return needed ? headwise_config_fail(object, key, "is missing") : HEADWISE_OK;
    struct headwise_json_reader json;
    struct headwise_json_number number;
    int64_t whole;
    headwise_config_read(object, &json, &slice);
    if (!headwise_json_take_number(&json, &number) || !headwise_json_to_int64(&number, &whole) ||
        whole < 0 || (uint64_t)whole > SIZE_MAX)
        return headwise_config_fail(object, key, "is no whole number from 0");
    *value = (size_t)whole;
    return HEADWISE_OK;
}

enum headwise_status headwise_config_text(const struct headwise_config_object *object,
                                          const struct headwise_json_text *text,
                                          struct headwise_bytes *value) {
    if (!headwise_bytes_reserve(object->file->memory, value, text->size + 1)) /* never NULL */
        return headwise_model_no_memory(object->file->name);
    headwise_json_copy(value->at + value->size, text);
    value->size += text->size;
    return HEADWISE_OK;
}

enum headwise_status headwise_config_bytes(const struct headwise_config_object *object,
                                           const char *key, bool needed,
                                           struct headwise_bytes *value) {
    struct headwise_json_slice slice;
    if (!headwise_config_get(object, key, &slice))
        return needed ? headwise_config_fail(object, key, "is missing") : HEADWISE_OK;
    struct headwise_json_reader json;
    struct headwise_json_text text;
    headwise_config_read(object, &json, &slice);
    if (!headwise_json_take_text(&json, &text))
        return headwise_config_fail(object, key, "is no text");
    return headwise_config_text(object, &text, value);
}

enum headwise_status headwise_config_word(const struct headwise_config_object *object,
                                          const char *key, const char *const *words,
                                          size_t *index) {
    struct headwise_json_slice slice;
    if (!headwise_config_get(object, key, &slice))
        return headwise_config_fail(object, key, "is missing");
    struct headwise_json_reader json;
    struct headwise_json_text text;
    headwise_config_read(object, &json, &slice);
    if (!headwise_json_take_text(&json, &text))
        return headwise_config_fail(object, key, "is no text");
    for (size_t i = 0; words[i]; i++) {
        if (headwise_json_equals(&text, words[i])) {
            *index = i;
            return HEADWISE_OK;
        }
    }
    int size = text.raw.size < 80 ? (int)text.raw.size : 80;
    return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED, "%s: %s: %s '%.*s' is not supported",
                               object->file->name, object->part, key, size, text.raw.at);
}

static enum headwise_status walk(const struct headwise_config_object *part, const char *list,
                                 headwise_config_step_fn *step, void *user, int depth) {
    struct headwise_json_slice slice;
    struct headwise_json_reader json;
    struct headwise_json_text type;
    if (!headwise_config_get(part, "type", &slice))
        return headwise_config_fail(part, "type", "is missing");
    headwise_config_read(part, &json, &slice);
    if (!headwise_json_take_text(&json, &type))
        return headwise_config_fail(part, "type", "is no text");
    if (!headwise_json_equals(&type, "Sequence"))
        return step(user, part);
    if (!headwise_config_get(part, list, &slice) ||
        headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(part, list, "is no list");
    if (depth == MAX_NESTING)
        return headwise_config_fail(part, list, "is nested more than 8 deep");
    headwise_config_read(part, &json, &slice);
    headwise_json_enter_array(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_item(&json)) {
        struct headwise_config_object item = {.file = part->file, .part = part->part};
        headwise_json_skip(&json, &item.slice);
        status = walk(&item, list, step, user, depth + 1);
    }
    return status;
}

enum headwise_status headwise_config_steps(const struct headwise_config_object *part,
                                           const char *list, headwise_config_step_fn *step,
                                           void *user) {
    return walk(part, list, step, user, 0);
}

enum headwise_status headwise_config_pattern(const struct headwise_config_object *object,
                                             struct headwise_bytes *source, bool *is_regex) {
    struct headwise_config_object pattern = *object;
    struct headwise_json_slice value;
    if (!headwise_config_get(object, "pattern", &pattern.slice))
        return headwise_config_fail(object, "pattern", "is missing");
    *is_regex = headwise_config_get(&pattern, "Regex", &value);
    return headwise_config_bytes(&pattern, *is_regex ? "Regex" : "String", true, source);
}
