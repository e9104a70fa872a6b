/* The operator's driver: from a plan to parallel phases. */
#ifndef HEADWISE_SRC_ATTENTION_H
#define HEADWISE_SRC_ATTENTION_H

#include "attention/plan.h"
#include "context/context.h"
#include "context/parallel.h"

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

enum { HEADWISE_ATTENTION_PHASES = 4 };

/* Plans a checked call, ragged ones too. The call must stay where it is while the job lives. */
void headwise_attention_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                             const struct headwise_kernels *kernels, int n_threads);

/* Gives the job its scratch_bytes of scratch. */
void headwise_attention_bind(struct headwise_attention_job *job, float *scratch);

/* Writes the phases that carry out the job to phases[0 ... n-1] and returns n. */
int headwise_attention_phases(const struct headwise_attention_job *job,
                              struct headwise_phase *phases);

/* The tasks of one call that is not ragged, arg a headwise_attention_job: all key blocks of a tile;
 * a part of its key blocks, where keys are split; all of them joined. */
headwise_task_fn headwise_attend_task, headwise_split_task, headwise_join_task;

/* Whether the whole call is too small to wake other threads for. */
bool headwise_attention_is_tiny(const struct headwise_attention_job *job);

/* Plans, finds scratch and runs one checked call. HEADWISE_ERR_NO_MEMORY: nothing was written. */
enum headwise_status headwise_attention_run(headwise_context *context,
                                            const struct headwise_call *call);

#endif
