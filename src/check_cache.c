/* Checks of caches, shared by the operator's and the layer's calls. */
#include "cache.h"
#include "check.h"
#include "error.h"

enum headwise_status headwise_check_sequence(const char *where, const headwise_cache *cache,
                                             int64_t sequence) {
    if (!cache)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: cache is NULL", where);
    if (sequence < 0 || sequence >= cache->n_sequences)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: sequence is %lld, expected 0 to %lld",
                             where, (long long)sequence, (long long)(cache->n_sequences - 1));
    return HEADWISE_OK;
}

enum headwise_status headwise_check_cache(const char *where, const headwise_context *context,
                                          const headwise_cache *cache, int64_t first_sequence,
                                          int64_t n) {
    if (!context || !cache)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             context ? "cache" : "context");
    if (context->kernels != cache->kernels)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: the cache is laid out for tier %s, the context runs %s", where,
                             headwise_isa_name(cache->kernels->isa),
                             headwise_isa_name(context->kernels->isa));
    if (first_sequence < 0 || first_sequence > cache->n_sequences ||
        n > cache->n_sequences - first_sequence)
        return headwise_fail(
            HEADWISE_ERR_INVALID, "%s: %lld sequences from %lld on, but the cache has %lld", where,
            (long long)n, (long long)first_sequence, (long long)cache->n_sequences);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_room(const char *where, const headwise_cache *cache,
                                         int64_t first_sequence, int64_t n, int64_t n_rows) {
    for (int64_t s = first_sequence; s < first_sequence + n; s++) {
        int64_t room = headwise_cache_room(cache, s);
        if (n_rows > room)
            return headwise_fail(HEADWISE_ERR_FULL,
                                 "%s: sequence %lld holds %lld keys and has room for %lld more, "
                                 "not %lld",
                                 where, (long long)s, (long long)cache->lengths[s], (long long)room,
                                 (long long)n_rows);
    }
    return HEADWISE_OK;
}

int64_t headwise_most_keys(const headwise_cache *cache, int64_t first_sequence, int64_t n) {
    int64_t most = 0;
    for (int64_t s = first_sequence; s < first_sequence + n; s++)
        most = cache->lengths[s] > most ? cache->lengths[s] : most;
    return most;
}
