/* Checks of sequences of different lengths. */
#include <string.h>

#include "api/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/sequences.h"
#include "cache/cache.h"

static enum headwise_status check_starts(const char *where, const char *name, const int32_t *starts,
                                         int64_t n_sequences, int64_t n_rows) {
    for (int64_t b = 0; b <= n_sequences; b++) {
        int32_t least = b > 0 ? starts[b - 1] : 0;
        if (starts[b] < least || starts[b] > n_rows)
            return headwise_fail(
                HEADWISE_ERR_INVALID,
                "%s: %s[%lld] is %ld, expected %ld to %lld (they never decrease, up to the rows)",
                where, name, (long long)b, (long)starts[b], (long)least, (long long)n_rows);
    }
    return HEADWISE_OK;
}

static enum headwise_status check_same(const char *where, const struct headwise_ragged *ragged) {
    for (int64_t b = 0; b <= ragged->n_sequences; b++) {
        if (ragged->key_starts[b] != ragged->query_starts[b])
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: key_starts[%lld] is %ld, expected %ld as in query_starts: "
                                 "without a memory keys are of the same rows",
                                 where, (long long)b, (long)ragged->key_starts[b],
                                 (long)ragged->query_starts[b]);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_check_ragged(const char *where, struct headwise_ragged *ragged,
                                           const struct headwise_ragged *given, int64_t query_rows,
                                           int64_t key_rows) {
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": ragged", 16);
    if (!given)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s is NULL", name);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(ragged, given, name);
    if (status != HEADWISE_OK)
        return status;
    if (ragged->n_sequences < 0 || ragged->n_sequences > INT32_MAX)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: n_sequences is %lld, expected 0 to %ld",
                             where, (long long)ragged->n_sequences, (long)INT32_MAX);
    if (!ragged->query_starts)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: query_starts is NULL", where);
    if (!ragged->key_starts)
        ragged->key_starts = ragged->query_starts;
    status =
        check_starts(where, "query_starts", ragged->query_starts, ragged->n_sequences, query_rows);
    if (status != HEADWISE_OK)
        return status;
    if (key_rows < 0)
        return check_same(where, ragged);
    return check_starts(where,
                        ragged->key_starts == ragged->query_starts ? "query_starts as key_starts"
                                                                   : "key_starts",
                        ragged->key_starts, ragged->n_sequences, key_rows);
}

static enum headwise_status check_numbers(const char *where, const headwise_cache *cache,
                                          const struct headwise_ragged *ragged) {
    if (!ragged->cache_sequences && ragged->n_sequences > cache->n_sequences)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: n_sequences is %lld, but the cache has %lld", where,
                             (long long)ragged->n_sequences, (long long)cache->n_sequences);
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        int64_t sequence = headwise_ragged_sequence(ragged, b);
        if (sequence < 0 || sequence >= cache->n_sequences)
            return headwise_fail(
                HEADWISE_ERR_INVALID, "%s: cache_sequences[%lld] is %lld, expected 0 to %lld",
                where, (long long)b, (long long)sequence, (long long)(cache->n_sequences - 1));
    }
    return HEADWISE_OK;
}

/* Uses the cache's room for another call as marks: an appending call is alone. */
static enum headwise_status check_once(const char *where, headwise_cache *cache,
                                       const struct headwise_ragged *ragged) {
    for (int64_t b = 0; b < ragged->n_sequences; b++)
        cache->new_lengths[headwise_ragged_sequence(ragged, b)] = -1;
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        int64_t *mark = &cache->new_lengths[headwise_ragged_sequence(ragged, b)];
        if (*mark >= 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: cache_sequences[%lld] is %lld as cache_sequences[%lld], "
                                 "expected each once where rows are appended",
                                 where, (long long)b,
                                 (long long)headwise_ragged_sequence(ragged, b), (long long)*mark);
        *mark = b;
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_check_ragged_cache(const char *where, const headwise_context *context,
                                                 const headwise_cache *cache,
                                                 headwise_cache *appended,
                                                 const struct headwise_ragged *ragged) {
    enum headwise_status status = headwise_check_cache(where, context, cache, 0, 0);
    if (status == HEADWISE_OK)
        status = check_numbers(where, cache, ragged);
    if (status == HEADWISE_OK && appended)
        status = check_once(where, appended, ragged);
    for (int64_t b = 0; status == HEADWISE_OK && appended && b < ragged->n_sequences; b++)
        status = headwise_check_room(where, cache, headwise_ragged_sequence(ragged, b), 1,
                                     headwise_ragged_queries(ragged, b));
    return status;
}

int64_t headwise_most_ragged_keys(const headwise_cache *cache, const struct headwise_ragged *ragged,
                                  bool appends) {
    int64_t most = 0;
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        int64_t keys = cache->lengths[headwise_ragged_sequence(ragged, b)];
        keys += appends ? headwise_ragged_queries(ragged, b) : 0;
        most = keys > most ? keys : most;
    }
    return most;
}

enum headwise_status
headwise_check_ragged_options(const char *where, const struct headwise_attention_options *options) {
    struct headwise_attention_options all;
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": options", 16);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, options, name);
    if (status != HEADWISE_OK)
        return status;
    const struct {
        const char *name;
        const void *given;
    } refused[] = {{"mask", all.mask},
                   {"past_key", all.past_key},
                   {"past_value", all.past_value},
                   {"present_key", all.present_key},
                   {"present_value", all.present_value}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].given)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has no ragged shape, expected NULL with ragged sequences",
                                 where, refused[i].name);
    }
    return HEADWISE_OK;
}
