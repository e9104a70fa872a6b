/* The operator's driver: from a plan to parallel phases. */
#ifndef HEADWISE_SRC_ATTENTION_H
#define HEADWISE_SRC_ATTENTION_H

#include "context.h"
#include "parallel.h"
#include "plan.h"

/* A planned call with its scratch: what the phases' tasks are given. Lives until they have run. */
struct headwise_attention_job {
    struct headwise_plan plan;
    float *shared; /* scratch of the plan's scratch_bytes: the shared part, then the workers' */
};

enum { HEADWISE_ATTENTION_PHASES = 4 };

/* Writes the phases that carry out the job to phases[0 ... n-1] and returns n. */
int headwise_attention_phases(const struct headwise_attention_job *job,
                              struct headwise_phase *phases);

/* Plans, finds scratch and runs one checked call. HEADWISE_ERR_NO_MEMORY: nothing was written. */
enum headwise_status headwise_attention_run(headwise_context *context,
                                            const struct headwise_call *call);

#endif
