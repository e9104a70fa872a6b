/* Offsets of sequences that lie one after another in one tensor. */
#ifndef HEADWISE_SEQUENCES_H
#define HEADWISE_SEQUENCES_H

#include "headwise/ragged.h"

/* Rows of sequence b among the queries. */
static inline int64_t headwise_ragged_queries(const struct headwise_ragged *ragged, int64_t b) {
    return (int64_t)ragged->query_starts[b + 1] - ragged->query_starts[b];
}

/* The number of sequence b in the cache. */
static inline int64_t headwise_ragged_sequence(const struct headwise_ragged *ragged, int64_t b) {
    return ragged->cache_sequences ? ragged->cache_sequences[b] : b;
}

#endif
