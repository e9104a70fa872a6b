/* Values of config.json. */
#ifndef HEADWISE_MODEL_SETTINGS_H
#define HEADWISE_MODEL_SETTINGS_H

#include "families/description.h"

/* Set *value where one of the keys, separated by '|', is there and not null; leave it otherwise.
 * The part is the description's. HEADWISE_ERR_FORMAT: the value is of another kind, an integer
 * below least. */
enum headwise_status headwise_setting_integer(const struct headwise_description *description,
                                              const headwise_checkpoint *checkpoint,
                                              const char *keys, int64_t least, int64_t *value);
enum headwise_status headwise_setting_number(const struct headwise_description *description,
                                             const headwise_checkpoint *checkpoint,
                                             const char *keys, double *value);
enum headwise_status headwise_setting_bool(const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           bool *value);

enum { HEADWISE_SETTING_SIZE = 128 };

/* A text; of a list, the first one. *text is "" where there is none. */
enum headwise_status headwise_setting_text(const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           char text[HEADWISE_SETTING_SIZE]);

/* An activation by its name. */
enum headwise_status headwise_setting_activation(const struct headwise_description *description,
                                                 const headwise_checkpoint *checkpoint,
                                                 const char *keys,
                                                 enum headwise_activation *activation);

/* Fails where the keys have a value other than this one: arithmetic that is not there. */
enum headwise_status headwise_setting_must_be(const struct headwise_description *description,
                                              const headwise_checkpoint *checkpoint,
                                              const char *keys, bool value);

/* "PATH: config.json: KEY is VALUE, expected EXPECTED". */
enum headwise_status headwise_setting_fail(enum headwise_status status,
                                           const struct headwise_description *description,
                                           const headwise_checkpoint *checkpoint, const char *keys,
                                           const char *expected);

#endif
