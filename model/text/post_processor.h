/* What is added to the tokens of one or two texts, and how spans are trimmed. */
#ifndef HEADWISE_TEXT_POST_PROCESSOR_H
#define HEADWISE_TEXT_POST_PROCESSOR_H

#include "text/config.h"

enum headwise_template_kind {
    HEADWISE_TEMPLATE_FIRST,
    HEADWISE_TEMPLATE_SECOND,
    HEADWISE_TEMPLATE_SPECIAL
};

struct headwise_template_piece {
    enum headwise_template_kind kind;
    int32_t type;
    size_t first_id, n_ids; /* SPECIAL: in ids */
};

struct headwise_template {
    struct headwise_template_piece *pieces;
    size_t n, capacity;
};

struct headwise_post_processor {
    const struct headwise_allocator *memory;
    struct headwise_template templates[2]; /* for one text, for two */
    bool has_template;
    int32_t *ids;
    size_t n_ids, ids_capacity;
    bool trim_offsets, add_prefix_space; /* trim: spaces of byte-level pieces leave their spans */
};

enum headwise_status headwise_post_processor_read(struct headwise_post_processor *post,
                                                  const struct headwise_config_object *part);

/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP], the second text of type 1; for RoBERTa all of type 0 and
 * one [SEP] more between. */
enum headwise_status headwise_post_processor_bert(struct headwise_post_processor *post, int32_t cls,
                                                  int32_t sep, bool roberta);

/* Where nothing is said: the texts' tokens, one after the other. */
enum headwise_status headwise_post_processor_plain(struct headwise_post_processor *post);
void headwise_post_processor_free(struct headwise_post_processor *post);

size_t headwise_post_processor_n_added(const struct headwise_post_processor *post, bool pair);

#endif
