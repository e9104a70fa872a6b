/* Chooses who runs a call's phases: the caller alone, its own loop, a pool, or OpenMP. */
#include "context/parallel.h"

#include "base/error.h"
#include "base/float_mode.h"
#include "context/context.h"
#include "context/pool.h"
#include "context/threads.h"

static bool has_parallel_work(const struct headwise_work *work) {
    for (int p = 0; p < work->n_phases; p++) {
        if (work->phases[p].n_tasks > 1)
            return true;
    }
    return false;
}

#ifdef _OPENMP
#include <omp.h>

/* OpenMP ends the process where it cannot make a thread. Whoever calls from this thread makes its
 * own team, so that as many threads are tried before, once for each larger number. */
static int granted_threads(int n) {
    static _Thread_local int asked, granted;
    if (n > asked) {
        granted = 1 + headwise_threads_try(n - 1);
        asked = n;
    }
    return n < granted ? n : granted;
}

static bool may_run_openmp(void) {
    return !omp_in_parallel() && !headwise_forked_from_threads();
}

static void run_tasks(struct headwise_work *work, _Atomic int64_t *next, int p, int worker) {
    const struct headwise_phase *phase = &work->phases[p];
    int64_t i;
    while ((i = atomic_fetch_add_explicit(&next[p], 1, memory_order_relaxed)) < phase->n_tasks)
        headwise_work_task(work, phase, i, worker);
}

static void run_openmp(struct headwise_work *work) {
    int n_threads = granted_threads(work->n_workers);
    _Atomic int64_t next[HEADWISE_MAX_PHASES];
    if (n_threads == 1) {
        headwise_work_alone(work);
        return;
    }
    for (int p = 0; p < work->n_phases; p++)
        atomic_init(&next[p], 0);
#pragma omp parallel num_threads(n_threads)
    {
        HEADWISE_FLOAT_SCOPE();
        int worker = omp_get_thread_num();
        for (int p = 0; p < work->n_phases; p++) {
            run_tasks(work, next, p, worker);
            if (p + 1 < work->n_phases) {
#pragma omp barrier
            }
        }
    }
}

bool headwise_parallel_has_openmp(void) {
    return true;
}
#else
static bool may_run_openmp(void) {
    return false;
}

static void run_openmp(struct headwise_work *work) {
    headwise_work_alone(work);
}

bool headwise_parallel_has_openmp(void) {
    return false;
}
#endif

/* A phase in the hands of the caller's loop, whose threads have modes of their own. */
struct lent_phase {
    struct headwise_work *work;
    const struct headwise_phase *phase;
};

static void run_lent(void *arg, int64_t index, int worker) {
    const struct lent_phase *lent = arg;
    HEADWISE_FLOAT_SCOPE();
    headwise_work_task(lent->work, lent->phase, index, worker);
}

static void run_callers_loop(const headwise_context *context, struct headwise_work *work) {
    for (int p = 0; p < work->n_phases && !headwise_work_stopped(work); p++) {
        struct lent_phase lent = {work, &work->phases[p]};
        if (lent.phase->n_tasks > 0)
            context->parallel_for(context->parallel_user, lent.phase->n_tasks, run_lent, &lent);
    }
}

static void run(const headwise_context *context, struct headwise_work *work, bool serial) {
    HEADWISE_FLOAT_SCOPE();
    if (serial || work->n_workers == 1 || !has_parallel_work(work))
        headwise_work_alone(work);
    else if (context->parallel_for)
        run_callers_loop(context, work);
    else if (context->pool)
        headwise_pool_run(context->pool, work);
    else if (may_run_openmp())
        run_openmp(work);
    else
        headwise_work_alone(work);
}

enum headwise_status headwise_parallel_run(const headwise_context *context,
                                           const struct headwise_phase *phases, int n_phases,
                                           bool serial) {
    bool can_be_stopped = context->stop.flag || context->stop.asked;
    struct headwise_work work = {.phases = phases,
                                 .n_phases = n_phases,
                                 .n_workers = context->n_threads,
                                 .stop = can_be_stopped ? &context->stop : NULL};
    run(context, &work, serial);
    if (headwise_work_stopped(&work))
        return headwise_fail(HEADWISE_ERR_CANCELLED, "context: the call was cancelled");
    return HEADWISE_OK;
}
