/* Appends rows to a cache: opens its sequences, runs the tasks, advances the lengths. */
#include "base/error.h"
#include "base/scratch.h"
#include "cache/entries.h"
#include "context/parallel.h"
#include "context/waking.h"

static void open_sequences(const struct headwise_cache_append *append) {
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

/* Makes the rows the sequences', or, where tasks were left out, lets go of them: a ring has room
 * for no more rows than it can take back. */
static void close_sequences(const struct headwise_cache_append *append,
                            enum headwise_status status) {
    headwise_cache *cache = append->cache;
    for (int64_t b = 0; b < headwise_count_appends(append); b++) {
        struct headwise_append_entry entry = headwise_find_append(append, b);
        int64_t length = cache->lengths[entry.sequence];
        cache->lengths[entry.sequence] = length + entry.n;
        if (status != HEADWISE_OK)
            headwise_cache_truncate_run(cache, entry.sequence, length);
    }
}

enum headwise_status headwise_cache_append_phases(headwise_context *context,
                                                  const struct headwise_cache_append *append,
                                                  const struct headwise_phase *phases, int n_phases,
                                                  bool serial) {
    open_sequences(append);
    enum headwise_status status = headwise_parallel_run(context, phases, n_phases, serial);
    close_sequences(append, status);
    return status;
}

enum headwise_status headwise_cache_append_run(headwise_context *context,
                                               struct headwise_cache_append *append) {
    int64_t floats = 0;
    append->worker_floats = headwise_cache_append_floats(append->cache);
    headwise_take(&floats, context->n_threads, append->worker_floats);
    TRY(headwise_context_begin(context, headwise_float_bytes(floats)));
    append->scratch = context->scratch;
    struct headwise_phase phase = headwise_cache_append_phase(append);
    enum headwise_status status = headwise_cache_append_phases(
        context, append, &phase, 1, headwise_cache_append_is_tiny(append));
    headwise_context_end(context);
    return status;
}
