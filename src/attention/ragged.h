/* Many sequences in one call: each attends as a call of its own, in one loop over all tasks. */
#ifndef HEADWISE_SRC_RAGGED_H
#define HEADWISE_SRC_RAGGED_H

#include "attention/attention.h"
#include "base/sequences.h"

/* A sequence among the tasks. */
struct headwise_ragged_entry {
    int64_t first_task;
    int64_t first_tile; /* large ones: number of the first tile among theirs */
    int64_t first_pair; /* pairs of query and key in the sequences before it, by number */
    int64_t at_shared;  /* offset of its part of the shared scratch */
    int32_t sequence;
    int32_t n_threads; /* that it is planned for; 1: by the plan that all small ones share */
    int32_t step;      /* tiles (of all heads) per task */
};

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

/* Threads that sequence b is cut into tasks for, as if it were alone on them: twice its share of
 * the work, so that no task is long beside a thread's part of all. Above 1 it is large. */
int headwise_ragged_threads(const struct headwise_attention_job *job,
                            const struct headwise_call *call, int64_t b);

/* The ragged halves of the functions in attention.h. job->n_threads is set. */
void headwise_ragged_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                          const struct headwise_kernels *kernels);
void headwise_ragged_bind(struct headwise_attention_job *job, float *scratch);
int headwise_ragged_phases(const struct headwise_attention_job *job, struct headwise_phase *phases);
bool headwise_ragged_is_tiny(const struct headwise_attention_job *job);

/* Those of all sequences. */
int64_t headwise_ragged_pairs(const struct headwise_call *call);

/* The position of a row, where the caller gives none; 0 where it belongs to no sequence. */
int64_t headwise_ragged_position(const struct headwise_call *call, int64_t row);

#endif
