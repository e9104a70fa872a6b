/* A tokenizer and an encoding, as their parts see them. */
#ifndef HEADWISE_TEXT_TOKENIZER_H
#define HEADWISE_TEXT_TOKENIZER_H

#include "headwise-model/tokenizer.h"
#include "text/added.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

struct headwise_tokenizer {
    struct headwise_allocator memory;
    uint64_t hash; /* of the file: words in a cache belong to it */
    struct headwise_normalizer normalizer;
    struct headwise_pre_tokenizer pre;
    struct headwise_model model;
    struct headwise_added added;
    struct headwise_post_processor post;
    struct headwise_decoder decoder;
    size_t n_ids;
};

/* A token of one text, before others are added. */
struct headwise_found {
    int32_t id;
    uint32_t piece_size; /* of its own text in pieces; 0: it is written as the vocabulary has it */
    size_t piece;
    struct headwise_span span;
};

struct headwise_found_list {
    struct headwise_found *at;
    size_t n, capacity;
};

struct headwise_encoding {
    struct headwise_allocator memory;
    const struct headwise_tokenizer *tokenizer; /* of the last call */
    uint64_t hash;                              /* of the tokenizer that the cache belongs to */
    struct headwise_aligned input;              /* where invalid bytes were replaced */
    struct headwise_aligned text, part;         /* what lies between added tokens */
    struct headwise_splits splits;
    struct headwise_normalizer_room normalizer;
    struct headwise_pre_room pre;
    struct headwise_model_room model;
    struct headwise_pattern_room patterns;
    struct headwise_token_list pieces_of_word;
    struct headwise_found_list found[2]; /* the text and its pair */
    struct headwise_bytes pieces;        /* texts of tokens that no vocabulary has */
    struct headwise_tokens tokens;       /* the result; its arrays are those below */
    int32_t *ids, *types;
    struct headwise_span *spans;
    int8_t *sources;
    uint32_t *indices; /* in found */
    size_t ids_capacity, types_capacity, spans_capacity, sources_capacity, indices_capacity;
};

/* Opening: a tokenizer with its parts' memory set and nothing in them; then its tables. */
enum headwise_status headwise_tokenizer_new(headwise_tokenizer **tokenizer, const char *where,
                                            const struct headwise_tokenizer_options *options);
enum headwise_status headwise_tokenizer_read(headwise_tokenizer *tokenizer, const void *json,
                                             size_t size_bytes, const char *name);
enum headwise_status headwise_tokenizer_finish(headwise_tokenizer *tokenizer, const char *name);

/* BERT's vocab.txt; GPT-2's vocab.json and merges.txt. */
enum headwise_status headwise_tokenizer_read_lines(headwise_tokenizer *tokenizer, const char *text,
                                                   size_t size, bool cased, const char *name);
enum headwise_status headwise_tokenizer_read_merges(headwise_tokenizer *tokenizer,
                                                    const char *vocab, size_t vocab_size,
                                                    const char *merges, size_t merges_size,
                                                    const char *name);

/* How an id is written where it is decoded. */
struct headwise_text headwise_tokenizer_written(const struct headwise_tokenizer *tokenizer,
                                                int32_t id);

/* Steps of headwise_encode(): the tokens of a text; cuts; what is added. */
enum headwise_status headwise_encode_text(headwise_encoding *encoding,
                                          const struct headwise_text *text, int source,
                                          const struct headwise_encode_options *options);
enum headwise_status headwise_encode_truncate(headwise_encoding *encoding, bool pair,
                                              const struct headwise_encode_options *options);
void headwise_encode_trim(headwise_encoding *encoding, const struct headwise_text *text,
                          int source);
enum headwise_status headwise_encode_assemble(headwise_encoding *encoding, bool pair,
                                              bool add_special);

#endif
