/* JSON files of a folder, whose values are read as those of tokenizer.json are (text/config.h). */
#ifndef HEADWISE_ENCODE_SETTINGS_H
#define HEADWISE_ENCODE_SETTINGS_H

#include "files/map.h"
#include "text/config.h"

struct headwise_settings {
    bool is_there; /* false: object is {} */
    struct headwise_config_object object;
    struct headwise_bytes path;
    struct headwise_config config;
    struct headwise_config_members members;
    struct headwise_io_map file;
};

/* Appends folder/name and a NUL to path; name "" is the folder itself. */
enum headwise_status headwise_settings_join(const struct headwise_allocator *memory,
                                            struct headwise_bytes *path, const char *folder,
                                            const char *name);

/* Opens folder/name, which need not be there. part stands in error lines before keys.
 * HEADWISE_ERR_FORMAT: it is no JSON. Whatever comes of it, headwise_settings_close() follows. */
enum headwise_status headwise_settings_open(struct headwise_settings *settings,
                                            const struct headwise_allocator *memory,
                                            const char *folder, const char *name, const char *part);
void headwise_settings_close(struct headwise_settings *settings);

/* The text of key as a C string, appended to *text with its NUL; *found is false, and nothing is
 * appended, where the key is missing or null. */
enum headwise_status headwise_settings_text(const struct headwise_config_object *object,
                                            const char *key, struct headwise_bytes *text,
                                            bool *found);

/* What stands behind the last dot of a Python name: "Tanh" of "torch.nn.modules.activation.Tanh".
 */
const char *headwise_settings_class(const char *name);

#endif
