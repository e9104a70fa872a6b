/* Lays JSON out while it is written. */
#include "common/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/message.h"

static void break_line(struct json *json) {
    if (json->indent == 0)
        return;
    headwise_json_write_raw(&json->writer, "\n");
    for (int i = 0; i < json->indent * json->depth; i++)
        headwise_json_write_raw(&json->writer, " ");
}

/* What stands before a value: the comma after the one before it, and its key. */
static void begin_value(struct json *json, const char *key) {
    if (json->has_items)
        headwise_json_write_raw(&json->writer, ",");
    if (json->depth > 0)
        break_line(json);
    json->has_items = true;
    if (key) {
        headwise_json_write_text(&json->writer, key);
        headwise_json_write_raw(&json->writer, json->indent > 0 ? ": " : ":");
    }
}

static void begin_level(struct json *json, const char *key, const char *bracket) {
    begin_value(json, key);
    headwise_json_write_raw(&json->writer, bracket);
    json->depth++;
    json->has_items = false;
}

static void end_level(struct json *json, const char *bracket) {
    json->depth--;
    if (json->has_items)
        break_line(json);
    headwise_json_write_raw(&json->writer, bracket);
    json->has_items = true;
}

void json_begin_object(struct json *json, const char *key) {
    begin_level(json, key, "{");
}

void json_end_object(struct json *json) {
    end_level(json, "}");
}

void json_begin_array(struct json *json, const char *key) {
    begin_level(json, key, "[");
}

void json_end_array(struct json *json) {
    end_level(json, "]");
}

void json_null(struct json *json, const char *key) {
    begin_value(json, key);
    headwise_json_write_raw(&json->writer, "null");
}

void json_bool(struct json *json, const char *key, bool value) {
    begin_value(json, key);
    headwise_json_write_raw(&json->writer, value ? "true" : "false");
}

void json_integer(struct json *json, const char *key, int64_t value) {
    begin_value(json, key);
    headwise_json_write_integer(&json->writer, value);
}

void json_number(struct json *json, const char *key, double value) {
    char text[40];
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    snprintf(text, sizeof text, "%.*g", json->digits, value);
    headwise_json_write_raw(&json->writer, text);
    if (!strpbrk(text, ".e")) /* a number that is an integer here is no integer elsewhere */
        headwise_json_write_raw(&json->writer, ".0");
}

void json_text(struct json *json, const char *key, const char *text) {
    begin_value(json, key);
    headwise_json_write_text(&json->writer, text);
}

int json_end(const struct json *json, const char *path) {
    if (json->writer.is_out_of_memory)
        return fail("%s: out of memory", path);
    return json->writer.is_not_utf8 ? fail("%s: a text is not UTF-8", path) : EXIT_GOOD;
}
