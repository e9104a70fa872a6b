/* Steps that cut a normalized text into words. */
#ifndef HEADWISE_TEXT_PRE_TOKENIZER_H
#define HEADWISE_TEXT_PRE_TOKENIZER_H

#include "text/aligned.h"
#include "text/config.h"
#include "text/pattern.h"

/* Bytes begin..end of a normalized text. */
struct headwise_split {
    size_t begin, end;
};

struct headwise_splits {
    struct headwise_split *at;
    size_t n, capacity;
};

/* What becomes of a delimiter; the order is that of the names in pre_tokenizer.c. */
enum headwise_split_behavior {
    HEADWISE_SPLIT_REMOVED,
    HEADWISE_SPLIT_ISOLATED,
    HEADWISE_SPLIT_MERGED_WITH_PREVIOUS,
    HEADWISE_SPLIT_MERGED_WITH_NEXT,
    HEADWISE_SPLIT_CONTIGUOUS
};

enum headwise_pre_tokenizer_kind {
    HEADWISE_PRE_BERT,
    HEADWISE_PRE_BYTE_LEVEL,
    HEADWISE_PRE_DELIMITER,
    HEADWISE_PRE_METASPACE,
    HEADWISE_PRE_WHITESPACE,
    HEADWISE_PRE_WHITESPACE_SPLIT,
    HEADWISE_PRE_SPLIT,
    HEADWISE_PRE_PUNCTUATION,
    HEADWISE_PRE_DIGITS,
    HEADWISE_PRE_FIXED_LENGTH
};

enum headwise_prepend { HEADWISE_PREPEND_FIRST, HEADWISE_PREPEND_NEVER, HEADWISE_PREPEND_ALWAYS };

struct headwise_pre_step {
    enum headwise_pre_tokenizer_kind kind;
    enum headwise_split_behavior behavior;
    struct headwise_pattern pattern;  /* SPLIT, BYTE_LEVEL with use_regex, WHITESPACE */
    bool invert;                      /* SPLIT: what does not match is the delimiter */
    bool add_prefix_space, use_regex; /* BYTE_LEVEL */
    bool as_bytes; /* BYTE_LEVEL: the model reads bytes, so that none is written as a character */
    bool split;    /* METASPACE */
    enum headwise_prepend prepend;
    uint32_t character; /* METASPACE's replacement, DELIMITER */
    size_t length;      /* FIXED_LENGTH */
};

struct headwise_pre_tokenizer {
    const struct headwise_allocator *memory;
    struct headwise_pre_step *steps;
    size_t n, capacity;
};

enum headwise_status headwise_pre_tokenizer_read(struct headwise_pre_tokenizer *pre,
                                                 const struct headwise_config_object *part);

/* Adds a step without options (BERT's), or ByteLevel as GPT-2 has it. */
enum headwise_status headwise_pre_tokenizer_add(struct headwise_pre_tokenizer *pre,
                                                enum headwise_pre_tokenizer_kind kind);
void headwise_pre_tokenizer_free(struct headwise_pre_tokenizer *pre);

/* What the steps need, of one thread. */
struct headwise_pre_room {
    struct headwise_aligned other;
    struct headwise_splits other_splits;
    struct headwise_pattern_room *patterns;
};

/* Cuts the splits of text further; a step that writes characters changes text as well. */
enum headwise_status headwise_pre_tokenize(const struct headwise_pre_tokenizer *pre,
                                           struct headwise_pre_room *room,
                                           struct headwise_aligned *text,
                                           struct headwise_splits *splits);

/* Takes the pieces of one split in order, matches and what is between, and appends to splits what
 * the behavior makes of them. */
struct headwise_cutter {
    const struct headwise_allocator *memory;
    struct headwise_splits *splits;
    enum headwise_split_behavior behavior;
    size_t first; /* splits before are not this one's */
    bool was_match, has_waiting, has_empty, failed;
    struct headwise_split waiting;
};
void headwise_cutter_begin(struct headwise_cutter *cutter);
void headwise_cutter_take(struct headwise_cutter *cutter, size_t begin, size_t end, bool is_match);
void headwise_cutter_end(struct headwise_cutter *cutter);

bool headwise_splits_add(const struct headwise_allocator *memory, struct headwise_splits *splits,
                         size_t begin, size_t end);

#endif
