/* The sequences that new rows go to, and where those rows lie. */
#ifndef HEADWISE_CACHE_ENTRIES_H
#define HEADWISE_CACHE_ENTRIES_H

#include "base/sequences.h"
#include "cache/cache.h"

/* New rows of a sequence: where they lie in k and v. */
struct headwise_append_entry {
    int64_t sequence, batch, first, n;
};

/* Entry b of what is appended. */
static inline struct headwise_append_entry
headwise_find_append(const struct headwise_cache_append *append, int64_t b) {
    const struct headwise_ragged *ragged = append->ragged;
    if (!ragged)
        return (struct headwise_append_entry){append->first_sequence + b, b, 0, append->k.size[2]};
    return (struct headwise_append_entry){headwise_ragged_sequence(ragged, b), 0,
                                          ragged->query_starts[b],
                                          headwise_ragged_queries(ragged, b)};
}

static inline int64_t headwise_count_appends(const struct headwise_cache_append *append) {
    return append->ragged ? append->ragged->n_sequences : append->k.size[0];
}

/* Rows of the entries before entry b. */
static inline int64_t headwise_rows_before(const struct headwise_cache_append *append, int64_t b) {
    return append->ragged ? append->ragged->query_starts[b] : b * append->k.size[2];
}

#endif
