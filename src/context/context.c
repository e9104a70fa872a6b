/* Creates contexts, and grows their scratch. */
#include "context/context.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "context/budget.h"
#include "kernels/dispatch.h"

static enum headwise_status check_options(const struct headwise_context_options *options) {
    if (options->n_threads < 0 || options->n_threads > HEADWISE_MOST_THREADS)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: n_threads is %d, expected 0 to %d",
                             options->n_threads, HEADWISE_MOST_THREADS);
    if (!options->allocator.alloc != !options->allocator.release)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "context: allocator needs both alloc and release, or neither");
    if (options->pool && options->parallel_for)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "context: has a pool and a parallel_for, expected at most one");
    return HEADWISE_OK;
}

/* With a pool, as many as it has: scratch for more would not be used. */
static enum headwise_status choose_threads(struct headwise_context_options *options) {
    int most = options->pool ? headwise_pool_threads(options->pool) : HEADWISE_MOST_THREADS;
    if (options->n_threads == 0 && !options->pool)
        return headwise_thread_budget(&options->n_threads, "context");
    if (options->n_threads == 0 || options->n_threads > most)
        options->n_threads = most;
    return HEADWISE_OK;
}

enum headwise_status headwise_context_create(headwise_context **context,
                                             const struct headwise_context_options *options) {
    struct headwise_context_options all;
    const struct headwise_kernels *kernels;
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: the place for it is NULL");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, options, "context: options");
    if (status == HEADWISE_OK)
        status = check_options(&all);
    if (status == HEADWISE_OK)
        status = headwise_kernels_choose(&kernels, all.isa);
    if (status == HEADWISE_OK)
        status = choose_threads(&all);
    if (status != HEADWISE_OK)
        return status;
    headwise_context *created = headwise_alloc(&all.allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "context: out of memory");
    *created = (headwise_context){
        .kernels = kernels,
        .dot = headwise_dot_get(kernels->isa, 0),
        .n_threads = all.n_threads,
        .info = {.size = sizeof created->info, .isa = kernels->isa, .n_threads = all.n_threads},
        .parallel_for = all.parallel_for,
        .parallel_user = all.parallel_user,
        .pool = all.pool,
        .stop = {all.cancel_flag, all.cancelled, all.cancel_user},
        .allocator = all.allocator,
    };
    *context = created;
    return HEADWISE_OK;
}

void headwise_context_destroy(headwise_context *context) {
    if (!context)
        return;
    struct headwise_allocator allocator = context->allocator;
    headwise_release(&allocator, context->scratch, context->scratch_bytes);
    headwise_release(&allocator, context, sizeof *context);
}

const struct headwise_context_info *headwise_context_describe(const headwise_context *context) {
    return &context->info;
}

/* A context belongs to one thread at a time. Builds with assertions notice where it does not. */
#ifdef NDEBUG
static bool take(headwise_context *context) {
    (void)context;
    return true;
}

static void let_go(headwise_context *context) {
    (void)context;
}
#else
static bool take(headwise_context *context) {
    return !atomic_exchange_explicit(&context->busy, true, memory_order_acquire);
}

static void let_go(headwise_context *context) {
    atomic_store_explicit(&context->busy, false, memory_order_release);
}
#endif

static enum headwise_status fail_busy(void) {
    return headwise_fail(HEADWISE_ERR_INVALID,
                         "context: another thread is using it, expected one context per thread");
}

static enum headwise_status grow(headwise_context *context, size_t size_bytes) {
    if (size_bytes <= context->scratch_bytes)
        return HEADWISE_OK;
    void *scratch = headwise_alloc(&context->allocator, size_bytes);
    if (!scratch)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "context: no memory for %zu bytes of scratch",
                             size_bytes);
    headwise_release(&context->allocator, context->scratch, context->scratch_bytes);
    context->scratch = scratch;
    context->scratch_bytes = size_bytes;
    context->info.scratch_bytes = size_bytes;
    return HEADWISE_OK;
}

enum headwise_status headwise_context_begin(headwise_context *context, int64_t size_bytes) {
    if (size_bytes < 0 || (uint64_t)size_bytes > SIZE_MAX)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "context: the scratch size overflows");
    if (!take(context))
        return fail_busy();
    enum headwise_status status = grow(context, (size_t)size_bytes);
    if (status != HEADWISE_OK)
        let_go(context);
    return status;
}

void headwise_context_end(headwise_context *context) {
    let_go(context);
}

enum headwise_status headwise_context_reserve(headwise_context *context, size_t size_bytes) {
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: is NULL");
    if (!take(context))
        return fail_busy();
    enum headwise_status status = grow(context, size_bytes);
    let_go(context);
    return status;
}

enum headwise_status headwise_context_trim(headwise_context *context, size_t size_bytes) {
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: is NULL");
    if (!take(context))
        return fail_busy();
    if (context->scratch_bytes > size_bytes) {
        headwise_release(&context->allocator, context->scratch, context->scratch_bytes);
        context->scratch = NULL;
        context->scratch_bytes = context->info.scratch_bytes = 0;
    }
    let_go(context);
    return HEADWISE_OK;
}
