/* Values of a JSON text by name and number, for tests: each asks the reader anew. */
#ifndef TESTS_CLI_VIEW_H
#define TESTS_CLI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "json/reader.h"

/* A value as it stands in the text, which must stay; at is NULL where there is none. */
typedef struct headwise_json_slice view;

/* The one value of a text of JSON, which must be good. */
view view_of(const char *text);

/* A file's text, to be freed, ended by a NUL. */
char *view_read(const char *path);

/* What an object has under a key, once; what an array has at a place; how many it has. */
view view_member(view object, const char *key);
view view_item(view array, int64_t place);
int64_t view_count(view array);

enum headwise_json_kind view_kind(view value);

/* These fail the test where the value is of another kind. The text is valid until 4 calls later. */
double view_number(view value);
int64_t view_integer(view value);
bool view_bool(view value);
const char *view_text(view value);

/* Whether two values are written alike but for blanks. */
bool view_equals(view a, view b);

#endif
