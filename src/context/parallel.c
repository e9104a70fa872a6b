#include "context/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "context/context.h"

static void run_serial(const struct headwise_phase *phases, int n_phases) {
    for (int p = 0; p < n_phases; p++) {
        for (int64_t i = 0; i < phases[p].n_tasks; i++)
            phases[p].task(phases[p].arg, i, 0);
    }
}

static bool has_parallel_work(const struct headwise_phase *phases, int n_phases) {
    for (int p = 0; p < n_phases; p++) {
        if (phases[p].n_tasks > 1)
            return true;
    }
    return false;
}

#ifdef _OPENMP
#include <omp.h>

static atomic_bool ran_parallel;     /* this process has an OpenMP team of ours */
static atomic_bool forked_from_team; /* this process is the child of such a one */

static void note_fork(void) {
    atomic_store(&forked_from_team, true);
}

static void watch_forks(void) {
    if (!atomic_load_explicit(&ran_parallel, memory_order_relaxed) &&
        !atomic_exchange(&ran_parallel, true))
        pthread_atfork(NULL, NULL, note_fork);
}

static bool may_run_openmp(void) {
    return !omp_in_parallel() && !atomic_load_explicit(&forked_from_team, memory_order_relaxed);
}

static void run_openmp(const struct headwise_phase *phases, int n_phases, int n_threads) {
    _Atomic int64_t next[HEADWISE_MAX_PHASES];
    for (int p = 0; p < n_phases; p++)
        atomic_init(&next[p], 0);
    watch_forks();
#pragma omp parallel num_threads(n_threads)
    {
        int worker = omp_get_thread_num();
        for (int p = 0; p < n_phases; p++) {
            const struct headwise_phase *phase = &phases[p];
            int64_t i;
            while ((i = atomic_fetch_add_explicit(&next[p], 1, memory_order_relaxed)) <
                   phase->n_tasks)
                phase->task(phase->arg, i, worker);
            if (p + 1 < n_phases) {
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

static void run_openmp(const struct headwise_phase *phases, int n_phases, int n_threads) {
    (void)n_threads;
    run_serial(phases, n_phases);
}

bool headwise_parallel_has_openmp(void) {
    return false;
}
#endif

void headwise_parallel_run(const struct headwise_context *context,
                           const struct headwise_phase *phases, int n_phases, bool serial) {
    if (serial || context->n_threads == 1 || !has_parallel_work(phases, n_phases)) {
        run_serial(phases, n_phases);
    } else if (context->parallel_for) {
        for (int p = 0; p < n_phases; p++) {
            if (phases[p].n_tasks > 0)
                context->parallel_for(context->parallel_user, phases[p].n_tasks, phases[p].task,
                                      phases[p].arg);
        }
    } else if (may_run_openmp()) {
        run_openmp(phases, n_phases, context->n_threads);
    } else {
        run_serial(phases, n_phases);
    }
}
