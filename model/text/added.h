/* Tokens beside the vocabulary, which are found in a text before it is cut into words. */
#ifndef HEADWISE_TEXT_ADDED_H
#define HEADWISE_TEXT_ADDED_H

#include "text/config.h"
#include "text/model.h"
#include "text/normalizer.h"

struct headwise_added_token {
    struct headwise_bytes content;
    struct headwise_bytes normalized_content; /* what is looked for, and what it is decoded to */
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
};

struct headwise_added {
    const struct headwise_allocator *memory;
    struct headwise_added_token *tokens;
    size_t n, capacity;
    struct headwise_vocabulary contents; /* ids by content; indices of tokens by id */
    struct headwise_trie tries[2];       /* of those that are not normalized, and that are */
    bool begins[2][256];                 /* which bytes begin one */
    int32_t *index_of_id;                /* -1: not added */
    size_t n_index;
};

/* Reads the list added_tokens; the model's vocabulary is there. */
enum headwise_status headwise_added_read(struct headwise_added *added,
                                         const struct headwise_config_object *file,
                                         const struct headwise_model *model);

/* Adds a special token that is in the model's vocabulary, or nothing. */
enum headwise_status headwise_added_special(struct headwise_added *added,
                                            const struct headwise_model *model,
                                            const char *content);

/* Makes what finding needs; room is used for the normalizer. */
enum headwise_status headwise_added_finish(struct headwise_added *added,
                                           const struct headwise_normalizer *normalizer,
                                           struct headwise_normalizer_room *room);
void headwise_added_free(struct headwise_added *added);

/* The added token of an id; NULL: it is none. */
const struct headwise_added_token *headwise_added_of(const struct headwise_added *added,
                                                     int32_t id);

/* The next token in text; done is where the one before ended. */
struct headwise_added_match {
    size_t begin, end;
    const struct headwise_added_token *token; /* NULL: there is none */
    size_t next;                              /* where to go on looking */
};

struct headwise_added_match headwise_added_find(const struct headwise_added *added, bool normalized,
                                                bool special_is_text, const char *text, size_t size,
                                                size_t from, size_t done);

#endif
