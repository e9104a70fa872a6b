/* Values of the file: which must be there, of which kind, with error lines that name them. */
#ifndef HEADWISE_TEXT_CONFIG_H
#define HEADWISE_TEXT_CONFIG_H

#include "base/memory.h"
#include "headwise-model/tokenizer.h"
#include "json/reader.h"

struct headwise_config {
    const struct headwise_allocator *memory;
    const char *name;  /* of the file, for error lines */
    const char *whole; /* its text */
};

/* Where the values of an object are, found in one pass: objects with a vocabulary in them are asked
 * for a dozen keys, and each would pass over a megabyte. */
struct headwise_config_members {
    const char *of; /* where the object begins; NULL: it has more than fit here */
    size_t n;
    struct {
        struct headwise_json_text key;
        struct headwise_json_slice value;
    } at[32];
};

/* An object of the file and what it is called in error lines ("normalizer Replace"). */
struct headwise_config_object {
    const struct headwise_config *file;
    const char *part;
    struct headwise_json_slice slice;
    const struct headwise_config_members *members; /* of this slice, or of another one, or NULL */
};

/* Lists the members of object, which was skipped without an error, and lets it use the list. */
void headwise_config_list(struct headwise_config_members *members,
                          struct headwise_config_object *object);

/* HEADWISE_ERR_FORMAT with a line "name: part: key ...". */
enum headwise_status headwise_config_fail(const struct headwise_config_object *object,
                                          const char *key, const char *problem);

/* Kind of a slice. */
enum headwise_json_kind headwise_config_kind(const struct headwise_json_slice *slice);

/* The value of key; false where it is missing or null. */
bool headwise_config_get(const struct headwise_config_object *object, const char *key,
                         struct headwise_json_slice *value);

/* Values of a kind. *value keeps what it has where the key is missing or null, which is an error
 * where needed is set. Texts are appended to, without an end mark. */
enum headwise_status headwise_config_bool(const struct headwise_config_object *object,
                                          const char *key, bool needed, bool *value);
enum headwise_status headwise_config_size(const struct headwise_config_object *object,
                                          const char *key, bool needed, size_t *value);
enum headwise_status headwise_config_bytes(const struct headwise_config_object *object,
                                           const char *key, bool needed,
                                           struct headwise_bytes *value);
enum headwise_status headwise_config_text(const struct headwise_config_object *object,
                                          const struct headwise_json_text *text,
                                          struct headwise_bytes *value);

/* The index in words (an array with NULL at its end) of a short text. HEADWISE_ERR_UNSUPPORTED: of
 * no word. */
enum headwise_status headwise_config_word(const struct headwise_config_object *object,
                                          const char *key, const char *const *words, size_t *index);

/* Steps of a part: the value itself, or of type "Sequence" (nested at most 8 deep) the items of its
 * list. Calls step for each, in order. */
typedef enum headwise_status headwise_config_step_fn(void *user,
                                                     const struct headwise_config_object *step);
enum headwise_status headwise_config_steps(const struct headwise_config_object *part,
                                           const char *list, headwise_config_step_fn *step,
                                           void *user);

/* A pattern: {"String": text} or {"Regex": text}. */
enum headwise_status headwise_config_pattern(const struct headwise_config_object *object,
                                             struct headwise_bytes *source, bool *is_regex);

/* Reader of a slice, with places in the whole file. */
void headwise_config_read(const struct headwise_config_object *object,
                          struct headwise_json_reader *json,
                          const struct headwise_json_slice *slice);

/* HEADWISE_ERR_FORMAT with the reader's error. */
enum headwise_status headwise_config_broken(const struct headwise_config_object *object,
                                            const struct headwise_json_reader *json);

#endif
