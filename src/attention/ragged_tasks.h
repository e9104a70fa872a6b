/* The ragged halves of the driver's functions: each sequence attends as a call of its own, in one
 * loop over the tasks of all. */
#ifndef HEADWISE_RAGGED_TASKS_H
#define HEADWISE_RAGGED_TASKS_H

#include "attention/job.h"
#include "context/work.h"

/* Plans the call, with job->n_threads set. */
void headwise_ragged_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                          const struct headwise_kernels *kernels);

/* Gives the job its scratch_bytes of scratch, and fills in the table of its sequences. */
void headwise_ragged_bind(struct headwise_attention_job *job, float *scratch);

/* Writes the phases that carry out the job to phases[0 ... n-1] and returns n. */
int headwise_ragged_phases(const struct headwise_attention_job *job, struct headwise_phase *phases);

/* Whether the whole call is too small to wake other threads for. */
bool headwise_ragged_is_tiny(const struct headwise_attention_job *job);

#endif
