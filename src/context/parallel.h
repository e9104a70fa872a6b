/* Parallel loops: the only place that knows OpenMP. */
#ifndef HEADWISE_PARALLEL_H
#define HEADWISE_PARALLEL_H

#include "headwise/context.h"

/* A loop whose tasks may run at once. The phases of one run follow one another: all tasks of one
 * have returned before the next one's begin. */
struct headwise_phase {
    int64_t n_tasks;
    headwise_task_fn *task;
    void *arg;
};

enum { HEADWISE_MAX_PHASES = 12 };

/* Runs n_phases (at most HEADWISE_MAX_PHASES) phases in one parallel region of n_threads threads,
 * tasks taken in increasing order by whoever is free; or serially, with worker 0, where serial is
 * set, n_threads is 1, no phase has two tasks, the caller already is inside a parallel region, or
 * this process is a fork()ed child of one that had run in parallel (OpenMP's threads do not survive
 * a fork). parallel_for, where not NULL, takes OpenMP's place. */
void headwise_parallel_run(const struct headwise_context *context,
                           const struct headwise_phase *phases, int n_phases, bool serial);

/* Whether this build has OpenMP. */
bool headwise_parallel_has_openmp(void);

#endif
