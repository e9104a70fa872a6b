/* Threads that any number of contexts and calling threads share. */
#ifndef HEADWISE_POOL_H
#define HEADWISE_POOL_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pool has helpers, threads of its own, and calls of the contexts that were made with it (`pool`
 * of struct headwise_context_options) work together with them. It suits a service better than
 * OpenMP does:
 *   - A call's own thread works from the first task to the last one. It waits only for helpers that
 *     have begun a task, never for one that is still asleep or has no processor: where other
 *     programs keep the processors busy a call takes what its own thread would take alone, and a
 *     pool that sees calls take longer than that leaves the next ones (32 to 4096 of them, for a
 *     second at most) to their own threads.
 *   - Tasks are taken one by one: a slow, busy or smaller core takes fewer of them.
 *   - Callers share the helpers. At most n_threads threads work at once, callers among them; where
 *     there are as many callers as that, each works alone.
 *   - Helpers sleep when there is nothing to do. They spin for at most 50 us: within a call, and
 *     after one while calls follow one another that fast. A caller spins for at most 50 us for the
 *     last tasks that helpers have begun, and then sleeps.
 * Results have the same bits with a pool of any size and without one. */
typedef struct headwise_pool headwise_pool;

struct headwise_pool_options {
    size_t size;   /* sizeof(struct headwise_pool_options) */
    int n_threads; /* threads that work at once, the caller's among them: n_threads - 1 helpers are
                    * made. 0: headwise_default_threads(); at most 1024 */
    struct headwise_allocator allocator; /* zero: the C library's */
};

/* Creates a pool and stores it in *pool. options may be NULL: all defaults. Helpers inherit the
 * affinity and the scheduling of the thread that creates them; signals of the program are not
 * delivered to them. Where the system grants fewer threads there are fewer helpers, none at worst:
 * that is no error. HEADWISE_ERR_INVALID: pool is NULL, options->size is 0 or larger than this
 * library's, n_threads is outside [0, 1024], only one of the allocator's functions is set,
 * n_threads is 0 and HEADWISE_NUM_THREADS no number from 1 to 1024. HEADWISE_ERR_NO_MEMORY. On
 * failure *pool is unchanged.
 *
 * A pool may be used by any number of threads at once, each with a context of its own. In the child
 * of a fork() its helpers do not exist: calls with it run on their own thread there, with the same
 * bits, and a pool created in the child has helpers again. The parent's goes on. */
HEADWISE_API enum headwise_status headwise_pool_create(headwise_pool **pool,
                                                       const struct headwise_pool_options *options);

/* Ends the helpers, waits until they are gone and frees the pool. NULL is allowed. No call may run
 * with it, and contexts that were made with it may only be destroyed any more. */
HEADWISE_API void headwise_pool_destroy(headwise_pool *pool);

/* One more than the number of helpers: the most threads that a call runs on, at least 1. pool must
 * not be NULL. */
HEADWISE_API int headwise_pool_threads(const headwise_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
