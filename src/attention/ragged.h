/* Ragged calls: sizes of their sequences, and the call of one of them alone. */
#ifndef HEADWISE_SRC_RAGGED_H
#define HEADWISE_SRC_RAGGED_H

#include "attention/call.h"
#include "base/sequences.h"

/* Keys of sequence b. */
static inline int64_t headwise_ragged_keys(const struct headwise_call *call, int64_t b) {
    const struct headwise_ragged *ragged = &call->ragged;
    if (!call->cache)
        return (int64_t)ragged->key_starts[b + 1] - ragged->key_starts[b];
    return call->lengths[headwise_ragged_sequence(ragged, b)] +
           (call->n_appended > 0 ? headwise_ragged_queries(ragged, b) : 0);
}

/* The position of its first row, where the caller gives none. */
static inline int64_t headwise_ragged_first_position(const struct headwise_call *call, int64_t b) {
    return call->cache ? headwise_ragged_keys(call, b) - headwise_ragged_queries(&call->ragged, b)
                       : 0;
}

/* What it costs, in pairs of query and key, less than 2^62; a row without keys is written all the
 * same. */
int64_t headwise_ragged_work(const struct headwise_call *call, int64_t b);

/* The pairs of query and key of sequence b, and others beside them; INT64_MAX where that overflows.
 */
int64_t headwise_ragged_add_pairs(int64_t pairs, const struct headwise_call *call, int64_t b);

/* The call of sequence b alone; pairs: of the sequences before it, by number. */
void headwise_ragged_call(struct headwise_call *call, const struct headwise_call *all, int64_t b,
                          int64_t pairs);

/* The pairs of query and key of all sequences; INT64_MAX where that overflows. */
int64_t headwise_ragged_pairs(const struct headwise_call *call);

/* The position of a row, where the caller gives none; 0 where it belongs to no sequence. */
int64_t headwise_ragged_position(const struct headwise_call *call, int64_t row);

#endif
