/* What is known about a model beside its tensors. */
#ifndef HEADWISE_IO_CHECKPOINT_CONFIG_H
#define HEADWISE_IO_CHECKPOINT_CONFIG_H

#include "headwise/common.h"
#include "json/reader.h"

enum { HEADWISE_IO_N_SOURCES = 3 };

/* JSON objects, looked up in this order, each with the name that messages give it. */
struct headwise_io_config {
    struct headwise_io_source {
        const char *name;
        struct headwise_json_slice object; /* borrowed; size 0: nothing */
    } sources[HEADWISE_IO_N_SOURCES];
};

/* A value as it is in the text; size 0: none. */
typedef struct headwise_json_slice headwise_io_value;

enum headwise_json_kind headwise_io_value_kind(headwise_io_value value);

/* In all of these keys is one key or several, separated by '|', of which the first present counts.
 * A key whose value is null counts as present in _find and _has, as absent in the typed ones. */

/* The value of the first source that has any of the keys. */
headwise_io_value headwise_io_config_find(const struct headwise_io_config *config,
                                          const char *keys);
headwise_io_value headwise_io_source_find(const struct headwise_io_source *source,
                                          const char *keys);

bool headwise_io_config_has(const struct headwise_io_config *config, const char *keys);

/* Set *value where a key is present; leave it where none is. HEADWISE_ERR_FORMAT where the value
 * has another type, or is an integer below minimum or beyond 64 bits. Text "12", "0.5" or "true"
 * counts as its value: safetensors metadata is text. Of a text value up to size - 1 bytes. */
enum headwise_status headwise_io_config_integer(const struct headwise_io_config *config,
                                                const char *keys, int64_t minimum, int64_t *value);
enum headwise_status headwise_io_config_number(const struct headwise_io_config *config,
                                               const char *keys, double *value);
enum headwise_status headwise_io_config_bool(const struct headwise_io_config *config,
                                             const char *keys, bool *value);
enum headwise_status headwise_io_config_text(const struct headwise_io_config *config,
                                             const char *keys, char *value, size_t size);

/* This configuration seen from inside the object under key, where any source has it; sources
 * without it are dropped, but for the first. Without one in any source: the configuration itself.
 * In a source that also has the object under key with "_dict" behind it, that one counts. */
struct headwise_io_config headwise_io_config_section(const struct headwise_io_config *config,
                                                     const char *key);

/* Only source number index. */
struct headwise_io_config headwise_io_config_only(const struct headwise_io_config *config,
                                                  int index);

/* Fails with "config.json: KEY is VALUE, expected EXPECTED", VALUE as in the text without blanks.
 */
enum headwise_status headwise_io_config_fail(const struct headwise_io_config *config,
                                             const char *keys, const char *expected);

/* Whether a text of JSON is one object, whatever is in it; *object is then where it is. name stands
 * for the text in messages. */
enum headwise_status headwise_io_json_object(struct headwise_json_slice *object, const char *text,
                                             size_t size, const char *name);

#endif
