/* The context: tier, threads, memory. One per calling thread. */
#ifndef HEADWISE_CONTEXT_H
#define HEADWISE_CONTEXT_H

#include "isa.h"
#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A task of a parallel loop: index counts from 0, worker is below the context's number of threads.
 */
typedef void headwise_task_fn(void *arg, int64_t index, int worker);

/* The caller's own parallel loop. It must call task(arg, i, worker) once for every i in
 * [0, n_tasks), in any order, and return when all have returned. Two calls that overlap in time
 * must have different workers, all in [0, n_threads of the context). */
typedef void headwise_parallel_for_fn(void *user, int64_t n_tasks, headwise_task_fn *task,
                                      void *arg);

/* Whether a call is to stop. Asked by any of the call's threads, also by several at once, before
 * each task (some 10 us to 1 ms of work), until it says yes once. */
typedef bool headwise_cancelled_fn(void *user);

struct headwise_context_options {
    size_t size;           /* sizeof(struct headwise_context_options) */
    enum headwise_isa isa; /* AUTO: HEADWISE_ISA of the environment, else the best usable tier */
    int n_threads;         /* 0: all of pool, or headwise_default_threads(); at most 1024 */
    headwise_parallel_for_fn *parallel_for; /* NULL: pool, else OpenMP, else (in a build without
                                             * it) the calling thread alone */
    void *parallel_user;                    /* the first argument of parallel_for */
    struct headwise_allocator allocator;    /* zero: the C library's */
    headwise_pool *pool; /* or NULL; not together with parallel_for. It must outlive the calls */

    /* A call that is to be stopped returns HEADWISE_ERR_CANCELLED as soon as the tasks that have
     * begun have ended, unless none is left by then. What its outputs hold is unspecified; caches
     * have the length and the rows that they had (to a ring its rows count as appended and taken
     * back); the context and everything else can be used again. Creating a layer is not stopped. */
    const int *cancel_flag; /* other than 0: stop. Any thread or a signal handler may set it, by an
                             * atomic store or as a volatile sig_atomic_t. NULL: none */
    headwise_cancelled_fn *cancelled; /* true: stop, as at a deadline. NULL: not asked */
    void *cancel_user;                /* the argument of cancelled */
};

typedef struct headwise_context headwise_context;

/* Creates a context and stores it in *context. options may be NULL: all defaults.
 * HEADWISE_ERR_INVALID: context is NULL, options->size is 0 or larger than this library's,
 * n_threads is outside [0, 1024], only one of the allocator's functions is set, HEADWISE_ISA names
 * no tier, n_threads is 0 (without a pool) and HEADWISE_NUM_THREADS no number from 1 to 1024, both
 * parallel_for and pool are set. HEADWISE_ERR_UNSUPPORTED: the tier asked for is not built in or
 * not usable here: there is no fallback. HEADWISE_ERR_NO_MEMORY. On failure *context is unchanged.
 *
 * A context is used by one thread at a time, and shares no mutable state with another context but
 * their pool. Builds with assertions return HEADWISE_ERR_INVALID from a call during which another
 * thread is in a call of the same context.
 * Without a pool, its calls run serially where the caller already is inside an OpenMP parallel
 * region, and in the child of a fork() of a process that had more than one thread, whoever made
 * them: OpenMP's threads do not survive a fork. OpenMP's own settings and the affinity of threads
 * are never changed. Calls compute in the default floating-point mode, and leave the caller's as it
 * was. docs/embedding.md tells more. */
HEADWISE_API enum headwise_status
headwise_context_create(headwise_context **context, const struct headwise_context_options *options);

/* Frees the context and its scratch memory. NULL is allowed. */
HEADWISE_API void headwise_context_destroy(headwise_context *context);

/* What a context is. It belongs to the context and follows it. */
struct headwise_context_info {
    size_t size;           /* sizeof(struct headwise_context_info) of the library */
    enum headwise_isa isa; /* its tier, never AUTO */
    int n_threads;         /* at least 1 */
    size_t scratch_bytes;  /* of scratch memory that it holds now */
};

/* Lives as long as the context, which must not be NULL. */
HEADWISE_API const struct headwise_context_info *
headwise_context_describe(const headwise_context *context);

/* Scratch memory. A call that needs more scratch than the context holds grows it before it computes
 * anything, and the context keeps the larger size: repeating a shape allocates nothing. A service
 * that must not allocate later runs its largest shape once, reads scratch_bytes of
 * headwise_context_describe(), and reserves that much in every other context. reserve never
 * shrinks. HEADWISE_ERR_NO_MEMORY: the context keeps what it had. HEADWISE_ERR_INVALID: context is
 * NULL. */
HEADWISE_API enum headwise_status headwise_context_reserve(headwise_context *context,
                                                           size_t size_bytes);

/* Frees the scratch where it is larger than size_bytes: after a shape that was an exception, or
 * before a long rest (0 frees any). The next call allocates what it needs.
 * HEADWISE_ERR_INVALID: context is NULL. */
HEADWISE_API enum headwise_status headwise_context_trim(headwise_context *context,
                                                        size_t size_bytes);

/* The least of: processors in the calling thread's affinity mask; the whole part of the control
 * group's CPU quota; HEADWISE_NUM_THREADS of the environment; OMP_NUM_THREADS, or the first number
 * of its list. At least 1. The variables lower what the machine gives and never raise it. Empty
 * ones do not count, nor do those that are no number from 1 to 1024 (for HEADWISE_NUM_THREADS
 * headwise_context_create() then fails). Reads the kernel's cgroup files, the only files the
 * library ever reads. */
HEADWISE_API int headwise_default_threads(void);

#ifdef __cplusplus
}
#endif
#endif
