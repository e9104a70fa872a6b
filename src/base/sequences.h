/* Offsets of sequences that lie one after another in one tensor. */
#ifndef HEADWISE_SEQUENCES_H
#define HEADWISE_SEQUENCES_H

#include <stdint.h>

/* The fields of the caller's call, key_starts filled in. query_starts NULL: rows are a batch. */
struct headwise_ragged {
    int64_t n_sequences;
    const int32_t *query_starts; /* [n_sequences + 1] */
    const int32_t *key_starts;
    const int64_t *cache_sequences; /* [n_sequences], or NULL */
};

/* Rows of sequence b among the queries. */
static inline int64_t headwise_ragged_queries(const struct headwise_ragged *ragged, int64_t b) {
    return (int64_t)ragged->query_starts[b + 1] - ragged->query_starts[b];
}

/* The number of sequence b in the cache. */
static inline int64_t headwise_ragged_sequence(const struct headwise_ragged *ragged, int64_t b) {
    return ragged->cache_sequences ? ragged->cache_sequences[b] : b;
}

#endif
