/* What is known about a model beside its tensors. */
#ifndef HEADWISE_IO_CHECKPOINT_CONFIG_H
#define HEADWISE_IO_CHECKPOINT_CONFIG_H

#include <jansson.h>

#include "headwise/common.h"

/* JSON objects, looked up in this order, each with the name that messages give it. */
struct headwise_io_config {
    struct headwise_io_source {
        const char *name;
        const json_t *object; /* borrowed; NULL: nothing */
    } sources[3];
};

/* In all of these keys is one key or several, separated by '|', of which the first present counts.
 * A key whose value is null counts as present in _find and _has, as absent in the typed ones. */

/* The value of the first source that has any of the keys; NULL: none. *source, where it is not
 * NULL, and *key (length *key_length) tell which. */
const json_t *headwise_io_config_find(const struct headwise_io_config *config, const char *keys,
                                      const struct headwise_io_source **source);

bool headwise_io_config_has(const struct headwise_io_config *config, const char *keys);

/* Set *value where a key is present; leave it where none is. HEADWISE_ERR_FORMAT where the value
 * has another type, or is an integer below minimum. Text "12", "0.5" or "true" counts as its value:
 * safetensors metadata is text. */
enum headwise_status headwise_io_config_integer(const struct headwise_io_config *config,
                                                const char *keys, int64_t minimum, int64_t *value);
enum headwise_status headwise_io_config_number(const struct headwise_io_config *config,
                                               const char *keys, double *value);
enum headwise_status headwise_io_config_bool(const struct headwise_io_config *config,
                                             const char *keys, bool *value);
enum headwise_status headwise_io_config_text(const struct headwise_io_config *config,
                                             const char *keys, const char **value);

/* The same configuration seen from inside the object under key, where any source has it; sources
 * without it are dropped, but for the first. Without one in any source: the configuration itself.
 */
struct headwise_io_config headwise_io_config_section(const struct headwise_io_config *config,
                                                     const char *key);

/* Fails with "config.json: KEY is VALUE, expected EXPECTED". keys must be present. */
enum headwise_status headwise_io_config_fail(const struct headwise_io_config *config,
                                             const char *keys, const char *expected);

/* Reads a JSON object from a file or a text; *object is the caller's to decref. Duplicate keys are
 * refused. name stands for the text in messages. */
enum headwise_status headwise_io_json_file(json_t **object, const char *path);
enum headwise_status headwise_io_json_text(json_t **object, const char *text, const char *name);

#endif
