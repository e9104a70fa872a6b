/* All beginnings of a text that are keys, by one step for each byte: a double array. */
#ifndef HEADWISE_TEXT_TRIE_H
#define HEADWISE_TEXT_TRIE_H

#include "base/memory.h"
#include "headwise-model/tokenizer.h"

struct headwise_trie_node {
    uint32_t base;  /* children are at base + byte */
    uint32_t check; /* the parent and 1; 0: no node */
    int32_t value;  /* of the key that ends here, -1: none does */
};

struct headwise_trie {
    const struct headwise_allocator *memory;
    struct headwise_trie_node *nodes; /* node 0 is the root; NULL: no keys */
    size_t n_nodes, capacity;
};

struct headwise_trie_key {
    struct headwise_text text;
    int32_t value; /* at least 0; of equal keys the last one's counts */
};

/* Makes the trie of n keys, which are sorted on the way. False: no memory. */
bool headwise_trie_build(struct headwise_trie *trie, struct headwise_trie_key *keys, size_t n);
void headwise_trie_free(struct headwise_trie *trie);

/* The child of node by this byte; 0: there is none (the root is nobody's child). */
static inline uint32_t headwise_trie_step(const struct headwise_trie *trie, uint32_t node,
                                          unsigned char byte) {
    size_t child = (size_t)trie->nodes[node].base + byte;
    return child < trie->n_nodes && trie->nodes[child].check == node + 1 ? (uint32_t)child : 0;
}

/* The longest key that begins bytes, from node on: its value, or -1; *length: its size. */
int32_t headwise_trie_longest(const struct headwise_trie *trie, uint32_t node, const char *bytes,
                              size_t size, size_t *length);

#endif
