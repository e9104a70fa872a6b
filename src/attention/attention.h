/* The operator's driver: from a plan to parallel phases. */
#ifndef HEADWISE_SRC_ATTENTION_H
#define HEADWISE_SRC_ATTENTION_H

#include "attention/job.h"
#include "context/context.h"
#include "context/work.h"

enum { HEADWISE_ATTENTION_PHASES = 4 };

/* Plans a checked call, ragged ones too. The call must stay where it is while the job lives. */
void headwise_attention_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                             const struct headwise_kernels *kernels, int n_threads);

/* Gives the job its scratch_bytes of scratch. Nothing can fail from here on: outputs that no task
 * writes are cleared. */
void headwise_attention_bind(struct headwise_attention_job *job, float *scratch);

/* Writes the phases that carry out the job to phases[0 ... n-1] and returns n. */
int headwise_attention_phases(const struct headwise_attention_job *job,
                              struct headwise_phase *phases);

/* Whether the whole call is too small to wake other threads for. */
bool headwise_attention_is_tiny(const struct headwise_attention_job *job);

/* Plans, finds scratch and runs one checked call. HEADWISE_ERR_NO_MEMORY: nothing was written. */
enum headwise_status headwise_attention_run(headwise_context *context,
                                            const struct headwise_call *call);

#endif
