/* Checks of caches, shared by the operator's and the layer's calls. */
#include "api/check.h"
#include "attention/ragged.h"
#include "attention/visibility.h"
#include "base/error.h"
#include "cache/cache.h"

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
                                          const headwise_cache *cache) {
    if (!context || !cache)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             context ? "cache" : "context");
    if (context->kernels->isa != cache->kernels->isa)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: the cache is laid out for tier %s, the context runs %s", where,
                             headwise_isa_name(cache->kernels->isa),
                             headwise_isa_name(context->kernels->isa));
    return HEADWISE_OK;
}

enum headwise_status headwise_check_batch(const char *where, const headwise_cache *cache,
                                          int64_t first_sequence, int64_t n) {
    if (first_sequence < 0 || first_sequence > cache->n_sequences)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: first_sequence is %lld, expected 0 to %lld",
                             where, (long long)first_sequence, (long long)cache->n_sequences);
    if (n > cache->n_sequences - first_sequence)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: a batch of %lld from sequence %lld on, but the cache has %lld",
                             where, (long long)n, (long long)first_sequence,
                             (long long)cache->n_sequences);
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

static enum headwise_status check_ragged_ring(const char *where, const struct headwise_call *call) {
    enum headwise_status status = HEADWISE_OK;
    for (int64_t b = 0; status == HEADWISE_OK && b < call->ragged.n_sequences; b++) {
        struct headwise_call one;
        headwise_ragged_call(&one, call, b, 0);
        status = headwise_check_ring(where, &one);
    }
    return status;
}

enum headwise_status headwise_check_ring(const char *where, const struct headwise_call *call) {
    const headwise_cache *cache = call->cache;
    const struct headwise_attention_options *options = &call->options;
    if (!cache || cache->window == 0 || call->n_queries == 0)
        return HEADWISE_OK;
    if (call->ragged.query_starts)
        return check_ragged_ring(where, call);
    if (!options->window_is_set || options->window_left < 0 ||
        options->window_left >= cache->window || options->window_first > cache->first)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: the cache keeps a window: set window_left, to %lld at most, and "
                             "window_first to %lld at most",
                             where, (long long)(cache->window - 1), (long long)cache->first);
    if (headwise_wants_hidden_scores(call))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: a cache with a window has no scores before the masks", where);
    for (int64_t b = 0; b < call->batch; b++) {
        int64_t held_from =
            headwise_cache_held_after(cache, call->first_sequence + b, call->n_appended);
        struct headwise_span span = headwise_window_span(call, b);
        if (held_from > headwise_cache_pinned_keys(cache) && span.lo < span.hi &&
            span.lo < held_from)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: sequence %lld: queries see keys from %lld on, but those "
                                 "before %lld were dropped",
                                 where, (long long)(call->first_sequence + b), (long long)span.lo,
                                 (long long)held_from);
    }
    return HEADWISE_OK;
}
