/* Finds values in a JSON text. */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_headers.h"

view view_of(const char *text) {
    struct headwise_json_reader json;
    view value = {0};
    char line[200];
    headwise_json_begin(&json, text, strlen(text));
    headwise_json_skip(&json, &value);
    headwise_json_end(&json);
    if (json.error) {
        headwise_json_describe(line, sizeof line, &json);
        fail_msg("%s", line);
    }
    return value;
}

char *view_read(const char *path) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(stream);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    rewind(stream);
    assert_int_equal(fread(text, 1, size, stream), size);
    fclose(stream);
    return text;
}

/* A reader at the beginning of a value that must be there. */
static struct headwise_json_reader begin(view value) {
    struct headwise_json_reader json;
    assert_non_null(value.at);
    headwise_json_begin_slice(&json, value.at, &value);
    return json;
}

view view_member(view object, const char *key) {
    view value = {0};
    assert_int_equal(view_kind(object), HEADWISE_JSON_OBJECT);
    if (headwise_json_find(&value, &object, key) > 1)
        fail_msg("\"%s\" stands there twice", key);
    return value;
}

view view_item(view array, int64_t place) {
    struct headwise_json_reader json = begin(array);
    view value = {0};
    assert_true(headwise_json_enter_array(&json));
    for (int64_t i = 0; headwise_json_next_item(&json); i++) {
        headwise_json_skip(&json, &value);
        if (i == place)
            return value;
    }
    return (view){0};
}

int64_t view_count(view array) {
    struct headwise_json_reader json = begin(array);
    int64_t n = 0;
    assert_true(headwise_json_enter_array(&json));
    for (; headwise_json_next_item(&json); n++)
        headwise_json_skip(&json, NULL);
    return n;
}

enum headwise_json_kind view_kind(view value) {
    struct headwise_json_reader json = begin(value);
    return headwise_json_peek(&json);
}

double view_number(view value) {
    struct headwise_json_reader json = begin(value);
    struct headwise_json_number number;
    double real = 0;
    assert_true(headwise_json_take_number(&json, &number));
    assert_true(headwise_json_to_double(&number, &real));
    return real;
}

int64_t view_integer(view value) {
    struct headwise_json_reader json = begin(value);
    struct headwise_json_number number;
    int64_t integer = 0;
    assert_true(headwise_json_take_number(&json, &number));
    assert_true(headwise_json_to_int64(&number, &integer));
    return integer;
}

bool view_bool(view value) {
    struct headwise_json_reader json = begin(value);
    bool is_true = false;
    assert_true(headwise_json_take_bool(&json, &is_true));
    return is_true;
}

const char *view_text(view value) {
    static char texts[4][1024];
    static int n;
    struct headwise_json_reader json = begin(value);
    struct headwise_json_text text;
    assert_true(headwise_json_take_text(&json, &text));
    n = (n + 1) % 4;
    assert_true(text.size < sizeof texts[n]);
    headwise_json_copy(texts[n], &text);
    texts[n][text.size] = '\0';
    return texts[n];
}

/* The next character that counts, of the size that are left; a NUL at the end. */
static char next(view *value, bool *is_inside) {
    while (value->size > 0) {
        char c = *value->at++;
        value->size--;
        if (c == '"')
            *is_inside = !*is_inside;
        if (*is_inside || !strchr(" \n", c))
            return c;
    }
    return '\0';
}

bool view_equals(view a, view b) {
    bool in_a = false, in_b = false;
    char c;
    assert_true(a.at && b.at && !memchr(a.at, '\\', a.size) && !memchr(b.at, '\\', b.size));
    do {
        c = next(&a, &in_a);
        if (c != next(&b, &in_b))
            return false;
    } while (c);
    return true;
}
