/* A planned call at work: what its tasks are given. */
#ifndef HEADWISE_JOB_H
#define HEADWISE_JOB_H

#include "attention/plan.h"

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

/* What a ragged call's plan has in addition. */
struct headwise_ragged_state {
    int64_t work;    /* of all sequences */
    int64_t n_large; /* sequences that several threads share, the first ones in the table */
    struct headwise_ragged_entry *entries; /* [n_sequences], in the order of their tasks */
    int64_t table_floats;
    int64_t n_tasks, n_tiles; /* tiles: of the large ones alone */
    bool splits;              /* the keys of a large one are split */
};

/* A planned call with its scratch: what the phases' tasks are given. Lives until they have run. */
struct headwise_attention_job {
    struct headwise_plan plan; /* of a ragged call: serves every sequence that is not large */
    int n_threads;
    int64_t scratch_bytes; /* -1 where it overflows */
    float *shared;         /* what the key blocks of split keys give */
    float *workers;        /* worker_stride floats for each thread */
    int64_t worker_stride;
    struct headwise_ragged_state ragged;
};

static inline float *headwise_worker_scratch(const struct headwise_attention_job *job, int worker) {
    return job->workers + worker * job->worker_stride;
}

#endif
