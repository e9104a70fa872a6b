/* A call's work as those who run it share it: phases of tasks, and whether to go on. */
#ifndef HEADWISE_WORK_H
#define HEADWISE_WORK_H

#include <stdatomic.h>

#include "headwise/context.h"

/* A loop whose tasks may run at once. The phases of one run follow one another: all tasks of one
 * have returned before the next one's begin. */
struct headwise_phase {
    int64_t n_tasks;
    headwise_task_fn *task;
    void *arg;
};

/* Who may stop a call; all zero: nobody. */
struct headwise_stop {
    const int *flag;
    headwise_cancelled_fn *asked;
    void *user;
};

struct headwise_work {
    const struct headwise_phase *phases;
    int n_phases;
    int n_workers;                    /* tasks get workers below it */
    const struct headwise_stop *stop; /* or NULL */
    atomic_bool stopped;              /* a task was left out */
};

/* Whether the caller wants the call to end. */
static inline bool headwise_stop_asked(const struct headwise_stop *stop) {
    return (stop->flag && __atomic_load_n(stop->flag, __ATOMIC_RELAXED) != 0) ||
           (stop->asked && stop->asked(stop->user));
}

static inline bool headwise_work_stopped(const struct headwise_work *work) {
    return atomic_load_explicit(&work->stopped, memory_order_relaxed);
}

/* Runs a task, or leaves it out and remembers that where the call is to stop: once stopped, it is
 * not asked again. */
static inline void headwise_work_task(struct headwise_work *work,
                                      const struct headwise_phase *phase, int64_t index,
                                      int worker) {
    if (work->stop && (headwise_work_stopped(work) || headwise_stop_asked(work->stop)))
        atomic_store_explicit(&work->stopped, true, memory_order_relaxed);
    else
        phase->task(phase->arg, index, worker);
}

/* Runs all of it, as worker 0. */
void headwise_work_alone(struct headwise_work *work);

#endif
