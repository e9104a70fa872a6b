/* Pieces by id and ids by piece. */
#ifndef HEADWISE_TEXT_VOCABULARY_H
#define HEADWISE_TEXT_VOCABULARY_H

#include "base/memory.h"
#include "headwise-model/tokenizer.h"

/* Ids beyond are refused: tables by id are as long as the largest. */
enum { HEADWISE_VOCABULARY_MAX_ID = (1 << 22) - 1 };

struct headwise_vocabulary {
    const struct headwise_allocator *memory;
    struct headwise_bytes pool;               /* all pieces */
    struct headwise_vocabulary_place *places; /* by id */
    size_t n_ids, n_pieces, places_capacity;  /* n_ids: the largest and one */
    uint32_t *slots;                          /* open addressing: id and 1, or 0 */
    size_t n_slots;                           /* a power of two, or 0 */
};

struct headwise_vocabulary_place {
    uint32_t begin, size; /* in pool */
    uint32_t is_used;
};

/* Adds a piece; one that is there already moves to the new id, an id that is used gets the new
 * piece beside the old one, as in a dictionary that is turned round. False: no memory. */
bool headwise_vocabulary_add(struct headwise_vocabulary *vocabulary, struct headwise_text piece,
                             uint32_t id);

/* -1: not there. */
int32_t headwise_vocabulary_find(const struct headwise_vocabulary *vocabulary, const char *bytes,
                                 size_t size);

/* bytes is NULL where id names nothing. */
struct headwise_text headwise_vocabulary_piece(const struct headwise_vocabulary *vocabulary,
                                               uint32_t id);

void headwise_vocabulary_free(struct headwise_vocabulary *vocabulary);

/* A hash of bytes, for tables in memory. */
uint64_t headwise_text_hash(const char *bytes, size_t size);

#endif
