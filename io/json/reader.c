/* The structure of JSON: values, keys, items, and where an error is. */
#include "json/reader.h"

#include <stdio.h>
#include <string.h>

#include "json/scan.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next character that is no blank; '\0', which begins nothing, at the end and after an error.
 */
static inline char next_character(struct headwise_json_reader *json) {
    const char *at = json->at, *end = json->end;
    if (json->error)
        return '\0';
    while (at < end && (unsigned char)*at <= ' ' && is_blank(*at))
        at++;
    json->at = at;
    return at < end ? *at : '\0';
}

bool headwise_json_fail(struct headwise_json_reader *json, const char *at, const char *error) {
    if (!json->error) {
        json->error = error;
        json->error_at = at;
    }
    return false;
}

static bool fail_here(struct headwise_json_reader *json, const char *expected) {
    return headwise_json_fail(json, json->at,
                              json->at < json->end ? expected : "the text ends too early");
}

void headwise_json_begin(struct headwise_json_reader *json, const void *bytes, size_t size) {
    struct headwise_json_slice whole = {bytes ? bytes : "", size};
    headwise_json_begin_slice(json, whole.at, &whole);
    if (size >= 3 && memcmp(whole.at, "\xEF\xBB\xBF", 3) == 0)
        json->at += 3;
}

void headwise_json_begin_slice(struct headwise_json_reader *json, const char *whole,
                               const struct headwise_json_slice *value) {
    *json = (struct headwise_json_reader){
        .whole = whole, .at = value->at, .end = value->at + value->size};
}

enum headwise_json_kind headwise_json_peek(struct headwise_json_reader *json) {
    switch (next_character(json)) {
    case '{':
        return HEADWISE_JSON_OBJECT;
    case '[':
        return HEADWISE_JSON_ARRAY;
    case '"':
        return HEADWISE_JSON_TEXT;
    case 't':
    case 'f':
        return HEADWISE_JSON_BOOL;
    case 'n':
        return HEADWISE_JSON_NULL;
    case '-':
    case 'I':
    case 'N':
        return HEADWISE_JSON_NUMBER;
    default:
        return json->at < json->end && *json->at >= '0' && *json->at <= '9' && !json->error
                   ? HEADWISE_JSON_NUMBER
                   : HEADWISE_JSON_NOTHING;
    }
}

static bool enter(struct headwise_json_reader *json, char bracket, const char *expected) {
    if (next_character(json) != bracket)
        return fail_here(json, expected);
    if (json->depth == HEADWISE_JSON_MAX_DEPTH)
        return fail_here(json, "arrays and objects nest deeper than 512 levels");
    uint64_t bit = (uint64_t)1 << json->depth % 64, *word = &json->is_object[json->depth / 64];
    *word = bracket == '{' ? *word | bit : *word & ~bit;
    json->depth++;
    json->is_first = true;
    json->at++;
    return true;
}

bool headwise_json_enter_object(struct headwise_json_reader *json) {
    return enter(json, '{', "expected an object");
}

bool headwise_json_enter_array(struct headwise_json_reader *json) {
    return enter(json, '[', "expected an array");
}

/* Whether the innermost one is an object. */
static bool in_object(const struct headwise_json_reader *json) {
    int level = json->depth - 1;
    return json->depth > 0 && (json->is_object[level / 64] >> level % 64 & 1) != 0;
}

/* Takes the comma before what comes next, or the bracket at the end. True: something comes next. */
static bool advance(struct headwise_json_reader *json, char bracket, const char *expected) {
    char next = next_character(json);
    if (json->error)
        return false;
    if (next == bracket) {
        json->at++;
        json->depth--;
        json->is_first = false;
        return false;
    }
    if (json->is_first) {
        json->is_first = false;
        return json->at < json->end || fail_here(json, "");
    }
    if (next != ',')
        return fail_here(json, expected);
    json->at++;
    return true;
}

bool headwise_json_next_key(struct headwise_json_reader *json, struct headwise_json_text *key) {
    if (!json->error && !in_object(json))
        return headwise_json_fail(json, json->at, "a key was asked for outside of an object");
    if (!advance(json, '}', "expected ',' or '}'"))
        return false;
    if (next_character(json) != '"')
        return fail_here(json, "expected a key in quotes");
    if (!headwise_json_take_text(json, key))
        return false;
    if (next_character(json) != ':')
        return fail_here(json, "expected ':'");
    json->at++;
    return true;
}

bool headwise_json_next_item(struct headwise_json_reader *json) {
    if (!json->error && (in_object(json) || json->depth == 0))
        return headwise_json_fail(json, json->at, "an item was asked for outside of an array");
    return advance(json, ']', "expected ',' or ']'");
}

bool headwise_json_take_text(struct headwise_json_reader *json, struct headwise_json_text *text) {
    if (next_character(json) != '"')
        return fail_here(json, "expected text in quotes");
    const char *at = json->at + 1;
    const char *error = headwise_json_scan_text(&at, json->end, text);
    if (error)
        return headwise_json_fail(json, at, error);
    json->at = at;
    return true;
}

bool headwise_json_take_number(struct headwise_json_reader *json,
                               struct headwise_json_number *number) {
    if (headwise_json_peek(json) != HEADWISE_JSON_NUMBER)
        return fail_here(json, "expected a number");
    const char *at = json->at;
    const char *error = headwise_json_scan_number(&at, json->end, number);
    if (error)
        return headwise_json_fail(json, at, error);
    json->at = at;
    return true;
}

bool headwise_json_take_bool(struct headwise_json_reader *json, bool *value) {
    bool is_true = next_character(json) == 't';
    const char *word = is_true ? "true" : "false";
    if (json->error || !headwise_json_has_word(json->at, json->end, word))
        return fail_here(json, "expected true or false");
    *value = is_true;
    json->at += strlen(word);
    return true;
}

bool headwise_json_take_null(struct headwise_json_reader *json) {
    if (next_character(json) != 'n' || !headwise_json_has_word(json->at, json->end, "null"))
        return fail_here(json, "expected null");
    json->at += strlen("null");
    return true;
}

/* Takes a value, or of an array or object its bracket. */
static bool take_or_enter(struct headwise_json_reader *json, struct headwise_json_text *text) {
    struct headwise_json_number number;
    bool value;
    switch (headwise_json_peek(json)) {
    case HEADWISE_JSON_NULL:
        return headwise_json_take_null(json);
    case HEADWISE_JSON_BOOL:
        return headwise_json_take_bool(json, &value);
    case HEADWISE_JSON_NUMBER:
        return headwise_json_take_number(json, &number);
    case HEADWISE_JSON_TEXT:
        return headwise_json_take_text(json, text);
    case HEADWISE_JSON_ARRAY:
        return headwise_json_enter_array(json);
    case HEADWISE_JSON_OBJECT:
        return headwise_json_enter_object(json);
    case HEADWISE_JSON_NOTHING:
        break;
    }
    return fail_here(json, "expected a value");
}

bool headwise_json_skip(struct headwise_json_reader *json, struct headwise_json_slice *value) {
    struct headwise_json_text text;
    int outside = json->depth;
    next_character(json);
    const char *begin = json->at;
    take_or_enter(json, &text);
    while (!json->error && json->depth > outside) {
        if (in_object(json) ? headwise_json_next_key(json, &text) : headwise_json_next_item(json))
            take_or_enter(json, &text);
    }
    if (value && !json->error)
        *value = (struct headwise_json_slice){begin, (size_t)(json->at - begin)};
    return !json->error;
}

bool headwise_json_end(struct headwise_json_reader *json) {
    next_character(json);
    if (!json->error && json->at < json->end)
        return headwise_json_fail(json, json->at, "expected nothing more");
    return !json->error;
}

size_t headwise_json_find(struct headwise_json_slice *value,
                          const struct headwise_json_slice *object, const char *key) {
    struct headwise_json_reader json;
    struct headwise_json_text found;
    size_t n = 0;
    headwise_json_begin_slice(&json, object->at, object);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &found)) {
        bool is_it = headwise_json_equals(&found, key);
        if (headwise_json_skip(&json, is_it ? value : NULL) && is_it)
            n++;
    }
    return n;
}

struct headwise_json_place headwise_json_place(const struct headwise_json_reader *json,
                                               const char *at) {
    struct headwise_json_place place = {(size_t)(at - json->whole), 1, 1};
    for (const char *c = json->whole; c < at; c++) {
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) { /* the first byte of a character */
            place.column++;
        }
    }
    return place;
}

void headwise_json_describe(char *line, size_t size, const struct headwise_json_reader *json) {
    struct headwise_json_place place = headwise_json_place(json, json->error_at);
    snprintf(line, size, "line %zu, column %zu (byte %zu): %s", place.line, place.column,
             place.byte, json->error);
}
