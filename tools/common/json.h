/* JSON as the commands print it: commas, line ends and indentation in their places. */
#ifndef HEADWISE_TOOLS_JSON_H
#define HEADWISE_TOOLS_JSON_H

#include <stdbool.h>

#include "json/writer.h"

/* Set indent and digits, the rest is zero at the start. Free writer.text with free(). What
 * is written after a failure is dropped: ask json_end() once. */
struct json {
    int indent; /* blanks for each level; 0: one line without blanks */
    int digits; /* that are significant, of numbers that are no integers */
    int depth;
    bool has_items; /* something is in the innermost array or object already */
    struct headwise_json_writer writer;
};

/* Each writes one value; key is its name in an object, NULL in an array and for the whole. */
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_integer(struct json *json, const char *key, int64_t value);

/* null where value is not finite. */
void json_number(struct json *json, const char *key, double value);

/* text is UTF-8. */
void json_text(struct json *json, const char *key, const char *text);

/* Whether all was written; else prints the line, about path. Returns an exit code. */
int json_end(const struct json *json, const char *path);

#endif
