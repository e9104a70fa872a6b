#define _GNU_SOURCE /* sched_getaffinity */
#include "context/context.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "context/quota.h"
#include "kernels/dispatch.h"

enum { MAX_THREADS = 1024 };

static int affinity_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    /* More processors than cpu_set_t holds. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (int)online;
}

int headwise_default_threads(void) {
    int n = affinity_processors();
    int quota = headwise_quota_processors("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < n)
        n = quota;
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
}

static enum headwise_status check_options(const struct headwise_context_options *options) {
    if (options->n_threads < 0 || options->n_threads > MAX_THREADS)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: n_threads is %d, expected 0 to %d",
                             options->n_threads, MAX_THREADS);
    if (!options->allocator.alloc != !options->allocator.release)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "context: allocator needs both alloc and release, or neither");
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
    if (status != HEADWISE_OK)
        return status;
    headwise_context *created = headwise_alloc(&all.allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "context: out of memory");
    int n_threads = all.n_threads ? all.n_threads : headwise_default_threads();
    *created = (headwise_context){
        .kernels = kernels,
        .dot = headwise_dot_get(kernels->isa),
        .n_threads = n_threads,
        .info = {.size = sizeof created->info, .isa = kernels->isa, .n_threads = n_threads},
        .parallel_for = all.parallel_for,
        .parallel_user = all.parallel_user,
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

enum headwise_status headwise_context_reserve(headwise_context *context, size_t size_bytes) {
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "context: is NULL");
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

enum headwise_status headwise_context_grow(headwise_context *context, int64_t size_bytes) {
    if (size_bytes < 0 || (uint64_t)size_bytes > SIZE_MAX)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "context: the scratch size overflows");
    return headwise_context_reserve(context, (size_t)size_bytes);
}
