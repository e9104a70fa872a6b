/* Appends rows to a cache: opens its sequences, runs the tasks, advances the lengths. */
#include "base/error.h"
#include "base/scratch.h"
#include "cache/entries.h"
#include "context/waking.h"

void headwise_cache_append_open(const struct headwise_cache_append *append) {
    for (int64_t b = 0; b < headwise_count_appends(append); b++) {
        struct headwise_append_entry entry = headwise_find_append(append, b);
        headwise_cache_open(append->cache, entry.sequence, entry.n);
    }
}

bool headwise_cache_append_is_tiny(const struct headwise_cache_append *append) {
    const headwise_cache *cache = append->cache;
    double rows = (double)(headwise_rows_before(append, headwise_count_appends(append)) -
                           headwise_rows_before(append, 0));
    return headwise_is_tiny(rows * (double)cache->n_kv_heads *
                                (double)(cache->head_dim + cache->value_dim),
                            HEADWISE_WAKING_APPENDING);
}

void headwise_cache_commit(const struct headwise_cache_append *append) {
    for (int64_t b = 0; b < headwise_count_appends(append); b++) {
        struct headwise_append_entry entry = headwise_find_append(append, b);
        append->cache->lengths[entry.sequence] += entry.n;
    }
}

enum headwise_status headwise_cache_append_run(headwise_context *context,
                                               struct headwise_cache_append *append) {
    int64_t floats = 0;
    append->worker_floats = headwise_cache_append_floats(append->cache);
    headwise_take(&floats, context->n_threads, append->worker_floats);
    TRY(headwise_context_grow(context, headwise_float_bytes(floats)));
    append->scratch = context->scratch;
    headwise_cache_append_open(append);
    struct headwise_phase phase = headwise_cache_append_phase(append);
    headwise_parallel_run(context, &phase, 1, headwise_cache_append_is_tiny(append));
    headwise_cache_commit(append);
    return HEADWISE_OK;
}
