/* Makes a pool's threads, and ends them. */
#include "context/pool.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "context/budget.h"
#include "context/pool_state.h"
#include "context/threads.h"

/* Calls at once that may have helpers. More of them run on their own threads. */
enum { MOST_SLOTS = 64 };

/* The first calls are taken for ones that are worth waking helpers for. */
#define FIRST_TYPICAL_NS INT64_C(1000000)

/* Where the parts of a pool lie, in bytes from its beginning. */
struct places {
    int64_t slots, in_use, helpers, ids, total;
};

static int64_t take_bytes(int64_t *total, int64_t n, size_t size) {
    int64_t at = *total;
    *total = headwise_round_up(at + n * (int64_t)size, HEADWISE_ALIGNMENT);
    return at;
}

static struct places place_parts(int n_threads, int n_slots) {
    struct places places = {0};
    take_bytes(&places.total, 1, sizeof(headwise_pool));
    places.slots = take_bytes(&places.total, n_slots, sizeof(struct headwise_slot));
    places.in_use = take_bytes(&places.total, n_slots, (size_t)n_threads * sizeof(atomic_bool));
    places.helpers = take_bytes(&places.total, n_threads, sizeof(struct headwise_helper));
    places.ids = take_bytes(&places.total, n_threads, headwise_thread_bytes());
    return places;
}

static headwise_pool *place_pool(void *memory, const struct places *places, int n_threads,
                                 int n_slots) {
    headwise_pool *pool = memory;
    char *bytes = memory;
    memset(memory, 0, (size_t)places->total);
    pool->total_bytes = (size_t)places->total;
    pool->n_threads = n_threads;
    pool->n_slots = n_slots;
    pool->forks = headwise_forks();
    pool->typical_ns = FIRST_TYPICAL_NS;
    pool->slots = (struct headwise_slot *)(void *)(bytes + places->slots);
    pool->helpers = (struct headwise_helper *)(void *)(bytes + places->helpers);
    pool->ids = bytes + places->ids;
    for (int s = 0; s < n_slots; s++)
        pool->slots[s].in_use =
            (atomic_bool *)(void *)(bytes + places->in_use) + (size_t)s * (size_t)n_threads;
    for (int h = 0; h < n_threads; h++)
        pool->helpers[h] = (struct headwise_helper){pool, h};
    return pool;
}

static enum headwise_status check_options(struct headwise_pool_options *options) {
    if (options->n_threads < 0 || options->n_threads > HEADWISE_MOST_THREADS)
        return headwise_fail(HEADWISE_ERR_INVALID, "pool: n_threads is %d, expected 0 to %d",
                             options->n_threads, HEADWISE_MOST_THREADS);
    if (!options->allocator.alloc != !options->allocator.release)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "pool: allocator needs both alloc and release, or neither");
    return options->n_threads == 0 ? headwise_thread_budget(&options->n_threads, "pool")
                                   : HEADWISE_OK;
}

enum headwise_status headwise_pool_create(headwise_pool **pool,
                                          const struct headwise_pool_options *options) {
    struct headwise_pool_options all;
    if (!pool)
        return headwise_fail(HEADWISE_ERR_INVALID, "pool: the place for it is NULL");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, options, "pool: options");
    if (status == HEADWISE_OK)
        status = check_options(&all);
    if (status != HEADWISE_OK)
        return status;
    int n_slots = (int)headwise_min(all.n_threads, MOST_SLOTS);
    struct places places = place_parts(all.n_threads, n_slots);
    void *memory = headwise_alloc(&all.allocator, (size_t)places.total);
    if (!memory)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "pool: out of memory");
    headwise_pool *created = place_pool(memory, &places, all.n_threads, n_slots);
    created->allocator = all.allocator;
    created->n_helpers =
        headwise_threads_start(created->ids, all.n_threads - 1, headwise_helper_run,
                               created->helpers, sizeof(struct headwise_helper));
    *pool = created;
    return HEADWISE_OK;
}

void headwise_pool_destroy(headwise_pool *pool) {
    if (!pool)
        return;
    if (pool->forks == headwise_forks()) {
        atomic_store(&pool->ends, true);
        atomic_fetch_add(&pool->bell, 1);
        headwise_futex_wake(&pool->bell, INT_MAX);
        headwise_threads_join(pool->ids, pool->n_helpers);
    }
    struct headwise_allocator allocator = pool->allocator;
    headwise_release(&allocator, pool, pool->total_bytes);
}

int headwise_pool_threads(const headwise_pool *pool) {
    return pool->n_helpers + 1;
}
