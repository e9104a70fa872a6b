/* Joins the symbols of one word by the ranks of a table of merges. */
#ifndef HEADWISE_TEXT_BPE_MERGE_H
#define HEADWISE_TEXT_BPE_MERGE_H

#include "base/memory.h"

struct headwise_merge {
    uint32_t left, right, rank, id; /* id: what the two become; left UINT32_MAX: an empty slot */
};

struct headwise_merges {
    const struct headwise_allocator *memory;
    struct headwise_merge *slots; /* open addressing, at most half full */
    size_t n_slots, n, rank;      /* rank: of the next one */
};

/* Adds a pair; one that is there gets the new rank. False: no memory. */
bool headwise_merges_add(struct headwise_merges *merges, struct headwise_merge merge);
void headwise_merges_free(struct headwise_merges *merges);

/* A symbol of a word, with its neighbours where they are many. */
struct headwise_symbol {
    uint32_t id;
    uint32_t size;           /* bytes; 0: it was joined to the one before */
    uint32_t previous, next; /* UINT32_MAX: none */
};

struct headwise_candidate {
    uint32_t rank, at, id;
};

struct headwise_bpe_room {
    const struct headwise_allocator *memory;
    struct headwise_symbol *symbols;
    size_t n, capacity;
    struct headwise_candidate *heap;
    size_t n_heap, heap_capacity;
};
bool headwise_bpe_add(struct headwise_bpe_room *room, uint32_t id, size_t size);
void headwise_bpe_room_free(struct headwise_bpe_room *room);

/* Joins until no pair is in the table: always the pair of least rank, of equal ones the first. Time
 * is n log n in the symbols. False: no memory. */
bool headwise_bpe_merge(const struct headwise_merges *merges, struct headwise_bpe_room *room);

#endif
