/* Patterns: texts that stand for themselves and regular expressions in Oniguruma's syntax. The few
 * expressions that nearly all byte-level tokenizers have are matched by code of their own, the
 * others by PCRE2. */
#ifndef HEADWISE_TEXT_PATTERN_H
#define HEADWISE_TEXT_PATTERN_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/memory.h"
#include "headwise-model/tokenizer.h"

enum headwise_pattern_kind {
    HEADWISE_PATTERN_TEXT,
    HEADWISE_PATTERN_GPT2,   /* of ByteLevel's use_regex */
    HEADWISE_PATTERN_CL100K, /* Llama 3, and with single digits Qwen 2 */
    HEADWISE_PATTERN_CLIP,
    HEADWISE_PATTERN_WORDS, /* \w+|[^\w\s]+ */
    HEADWISE_PATTERN_REGEX
};

struct headwise_pattern {
    const struct headwise_allocator *memory;
    enum headwise_pattern_kind kind;
    struct headwise_bytes source; /* as the file has it */
    size_t n_digits;              /* CL100K: numbers in a row */
    pcre2_code *code;             /* REGEX */
};

/* What matching needs beside the pattern, of one thread; zero but memory at the beginning. */
struct headwise_pattern_room {
    const struct headwise_allocator *memory;
    pcre2_general_context *general;
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
};

/* HEADWISE_ERR_UNSUPPORTED: it cannot be compiled; the line names it. */
enum headwise_status headwise_pattern_set(struct headwise_pattern *pattern,
                                          const struct headwise_allocator *memory,
                                          struct headwise_text source, bool is_regex);
void headwise_pattern_free(struct headwise_pattern *pattern);
void headwise_pattern_room_free(struct headwise_pattern_room *room);

/* The first match in size bytes of valid UTF-8 that begins at from or later. *begin == size + 1:
 * there is none. HEADWISE_ERR_UNSUPPORTED: the expression exceeds its limit of steps. */
enum headwise_status headwise_pattern_find(const struct headwise_pattern *pattern,
                                           struct headwise_pattern_room *room, const char *text,
                                           size_t size, size_t from, size_t *begin, size_t *end);

/* Matches one after the other, as Oniguruma's library counts them: an empty one does not follow
 * another one at once. Zero but the first four at the beginning. */
struct headwise_pattern_matches {
    const struct headwise_pattern *pattern;
    struct headwise_pattern_room *room;
    const char *text;
    size_t size;
    size_t from, begin, end; /* the match */
    bool has_one;            /* a match came before */
};

/* *found: begin and end are the next match. Statuses as above. */
enum headwise_status headwise_pattern_next(struct headwise_pattern_matches *matches, bool *found);

/* PCRE2's memory from an allocator. NULL: no memory. */
pcre2_general_context *headwise_pattern_general(const struct headwise_allocator *memory);

/* Of a pattern that is matched by code, the end of the match that begins at at; at: none does. */
size_t headwise_pattern_scan(const struct headwise_pattern *pattern, const char *text, size_t size,
                             size_t at);

/* Writes an expression of Oniguruma's in PCRE2's syntax. False: no memory. */
bool headwise_pattern_translate(const struct headwise_allocator *memory,
                                struct headwise_bytes *pcre, struct headwise_text source);

#endif
