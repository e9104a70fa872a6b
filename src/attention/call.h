/* One attention call after its arguments were checked: what the driver reads. */
#ifndef HEADWISE_CALL_H
#define HEADWISE_CALL_H

#include "base/sequences.h"
#include "headwise/cache.h"

struct headwise_call {
    struct headwise_tensor y, q, k, v;
    struct headwise_tensor past_key, past_value;       /* no rows where there is no past */
    struct headwise_tensor present_key, present_value; /* data NULL where not wanted */
    struct headwise_tensor mask; /* data NULL: none; else stride 0 wherever an axis is broadcast */
    int64_t mask_keys;           /* keys from here on are hidden by the mask's length */
    struct headwise_attention_options options;
    const int64_t *query_offsets, *key_lengths, *positions; /* the caller's, each or NULL */
    const float *head_gates;
    int64_t gate_batch_stride;
    struct headwise_probe probe;
    struct headwise_statistics statistics; /* zero where not wanted */

    /* Keys and values of a cache in the place of k and v; cache NULL: none. Batch entry b is
     * sequence first_sequence + b, whose length is lengths[b] + n_appended: rows that this very
     * call appends count already. n_keys is the largest length. In a ragged call lengths are those
     * of the whole cache, and n_appended is 1 where each sequence gets its rows, else 0. */
    const headwise_cache *cache;
    int64_t first_sequence;
    const int64_t *lengths;
    int64_t n_appended;

    /* query_starts NULL: none. Else batch is 1, n_queries and n_keys count all rows of q and k,
     * what options and probe point to is by sequence, and key_starts is set: such a call is checked
     * and projected as a whole, and attends as one call for each sequence (ragged.h). */
    struct headwise_ragged ragged;
    int64_t probe_rows; /* rows of a head in the probe's arrays [B][H][rows]; n_queries, or more */

    int64_t batch;
    int64_t n_heads;
    int64_t n_kv_heads;
    int64_t group; /* query heads per kv head; the most of any where group_starts says more */
    const int64_t *group_starts; /* [n_kv_heads + 1], or NULL: groups of the same size */
    int64_t n_queries;
    int64_t n_past;
    int64_t n_keys; /* past and new */
    int64_t head_dim;
    int64_t value_dim;
    float scale;
};

/* Keys that batch entry b has. */
static inline int64_t headwise_call_keys(const struct headwise_call *call, int64_t b) {
    return call->cache ? call->lengths[b] + call->n_appended : call->n_keys;
}

static inline float headwise_gate(const struct headwise_call *call, int64_t b, int64_t h) {
    const float *gates = call->head_gates;
    return gates ? gates[b * call->gate_batch_stride + h] : 1.0f;
}

/* The first query head that reads kv head g; that of g + 1 ends the group. */
static inline int64_t headwise_group_start(const struct headwise_call *call, int64_t g) {
    return call->group_starts ? call->group_starts[g] : g * call->group;
}

/* Number of the row of query i and head h in arrays [B][H][rows]. */
static inline int64_t headwise_probe_row(const struct headwise_call *call, int64_t b, int64_t h,
                                         int64_t i) {
    return (b * call->n_heads + h) * call->probe_rows + i;
}

/* Whether scores get a bias by position. */
static inline bool headwise_has_bias(const struct headwise_call *call) {
    return call->options.alibi_slopes || call->options.relative_bias;
}

/* Whether the attention weights of single heads are needed while computing. */
static inline bool headwise_wants_weights(const struct headwise_call *call) {
    const struct headwise_probe *probe = &call->probe;
    return probe->weights || probe->mean_weights ||
           (probe->scores && probe->score_stage == HEADWISE_SCORES_WEIGHTS);
}

/* Whether scores of hidden keys are wanted too. */
static inline bool headwise_wants_hidden_scores(const struct headwise_call *call) {
    return call->probe.scores && call->probe.score_stage <= HEADWISE_SCORES_CAPPED;
}

/* Whether a head with a gate of 0 must be computed all the same. */
static inline bool headwise_probes_rows(const struct headwise_call *call) {
    return headwise_wants_weights(call) || call->probe.scores || call->probe.lse ||
           call->probe.statistics;
}

#endif
