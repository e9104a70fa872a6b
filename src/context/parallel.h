/* Parallel loops: the only place that knows OpenMP. */
#ifndef HEADWISE_PARALLEL_H
#define HEADWISE_PARALLEL_H

#include "context/work.h"

enum { HEADWISE_MAX_PHASES = 12 };

/* Runs n_phases (at most HEADWISE_MAX_PHASES) phases on up to n_threads threads, tasks taken in
 * increasing order by whoever is free: by the context's parallel_for, pool or OpenMP; or serially,
 * with worker 0, where serial is set, n_threads is 1, no phase has two tasks, and, for OpenMP, the
 * caller already is inside a parallel region or this process is the child of a fork() of one that
 * had several threads (OpenMP's do not survive it). Tasks run in the default floating-point mode.
 * HEADWISE_ERR_CANCELLED: the context's owner stopped the call, so that tasks were left out; those
 * that had begun have returned. */
enum headwise_status headwise_parallel_run(const headwise_context *context,
                                           const struct headwise_phase *phases, int n_phases,
                                           bool serial);

/* Whether this build has OpenMP. */
bool headwise_parallel_has_openmp(void);

#endif
