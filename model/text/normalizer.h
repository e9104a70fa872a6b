/* Steps that change characters before a text is cut into words. */
#ifndef HEADWISE_TEXT_NORMALIZER_H
#define HEADWISE_TEXT_NORMALIZER_H

#include "text/aligned.h"
#include "text/charsmap.h"
#include "text/config.h"
#include "text/normal_form.h"
#include "text/pattern.h"

enum headwise_normalizer_kind {
    HEADWISE_NORMALIZER_BERT,
    HEADWISE_NORMALIZER_STRIP,
    HEADWISE_NORMALIZER_STRIP_ACCENTS,
    HEADWISE_NORMALIZER_NFC,
    HEADWISE_NORMALIZER_NFD,
    HEADWISE_NORMALIZER_NFKC,
    HEADWISE_NORMALIZER_NFKD,
    HEADWISE_NORMALIZER_LOWERCASE,
    HEADWISE_NORMALIZER_NMT,
    HEADWISE_NORMALIZER_PRECOMPILED,
    HEADWISE_NORMALIZER_REPLACE,
    HEADWISE_NORMALIZER_PREPEND,
    HEADWISE_NORMALIZER_BYTE_LEVEL
};

struct headwise_normalizer_step {
    enum headwise_normalizer_kind kind;
    bool clean, chinese, accents, lower; /* BERT: what it does */
    bool left, right;                    /* STRIP */
    struct headwise_pattern pattern;     /* REPLACE */
    struct headwise_bytes content;       /* REPLACE, PREPEND */
    struct headwise_charsmap map;        /* PRECOMPILED */
};

struct headwise_normalizer {
    const struct headwise_allocator *memory;
    struct headwise_normalizer_step *steps;
    size_t n, capacity;
};

/* What the steps need, of one thread. */
struct headwise_normalizer_room {
    struct headwise_aligned other;   /* steps write from one text to another */
    struct headwise_aligned cleaned; /* BERT */
    struct headwise_form_room form;
    struct headwise_pattern_room *patterns;
};

enum headwise_status headwise_normalizer_read(struct headwise_normalizer *normalizer,
                                              const struct headwise_config_object *part);

/* Adds BERT's step, for files that do not say it. */
bool headwise_normalizer_add_bert(struct headwise_normalizer *normalizer, bool cased);
void headwise_normalizer_free(struct headwise_normalizer *normalizer);

/* Changes text in place. */
enum headwise_status headwise_normalize(const struct headwise_normalizer *normalizer,
                                        struct headwise_normalizer_room *room,
                                        struct headwise_aligned *text);

/* BERT's step. */
void headwise_normalizer_bert(struct headwise_aligned *target,
                              const struct headwise_aligned *source,
                              const struct headwise_normalizer_step *step,
                              struct headwise_normalizer_room *room);

/* Lower case. */
void headwise_normalizer_lower(struct headwise_aligned *target,
                               const struct headwise_aligned *source);

/* The character that stands for a byte in byte-level tokenizers' alphabet, below 0x144, and back:
 * -1 where the character stands for none. */
uint32_t headwise_byte_character(unsigned char byte);
int headwise_byte_of_character(uint32_t c);

/* Writes bytes begin..end of source, each as its character. */
void headwise_byte_level_write(struct headwise_aligned *target,
                               const struct headwise_aligned *source,
                               struct headwise_aligned_cursor *cursor, size_t begin, size_t end);

#endif
