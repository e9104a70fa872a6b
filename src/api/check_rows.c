/* Which rows belong to which sequence, and where they go in a cache. */
#include "api/check.h"
#include "base/alloc.h"
#include "base/error.h"
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

/* query_rows, key_rows: rows that the starts count; key_rows -1: those of the queries, which
 * key_starts must then equal. */
static enum headwise_status check_ragged(const char *where, struct headwise_ragged *ragged,
                                         const struct headwise_attention_call *given,
                                         int64_t query_rows, int64_t key_rows) {
    *ragged = (struct headwise_ragged){given->n_sequences, given->query_starts,
                                       given->key_starts ? given->key_starts : given->query_starts,
                                       given->cache_sequences};
    if (ragged->n_sequences < 0 || ragged->n_sequences > INT32_MAX)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: n_sequences is %lld, expected 0 to %ld",
                             where, (long long)ragged->n_sequences, (long)INT32_MAX);
    if (!ragged->query_starts)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: query_starts is NULL", where);
    if (given->cache_sequences && !given->cache)
        return headwise_check_absent(where, "cache_sequences", given->cache_sequences,
                                     "there is no cache");
    enum headwise_status status =
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

bool headwise_is_packed(const struct headwise_attention_call *given) {
    return given->query_starts || given->key_starts || given->cache_sequences ||
           given->n_sequences != 0;
}

enum headwise_status headwise_check_plain(const char *where,
                                          const struct headwise_attention_call *given) {
    if (headwise_is_packed(given))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: sequences are given by query_starts, expected a batch", where);
    return headwise_check_absent(where, "cache", given->cache, "keys are those of tensors here");
}

enum headwise_status headwise_check_rows(const char *where, struct headwise_ragged *ragged,
                                         const struct headwise_attention_call *given, int64_t batch,
                                         int64_t query_rows, int64_t key_rows, bool appends) {
    headwise_cache *cache = given->cache;
    enum headwise_status status = HEADWISE_OK;
    bool packed = headwise_is_packed(given);
    *ragged = (struct headwise_ragged){0};
    if (given->first_sequence != 0 && (packed || !cache))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: first_sequence is %lld, expected 0 %s",
                             where, (long long)given->first_sequence,
                             packed ? "with query_starts" : "without a cache");
    if (!packed) {
        if (cache)
            status = headwise_check_batch(where, cache, given->first_sequence, batch);
        if (status == HEADWISE_OK && appends)
            status = headwise_check_room(where, cache, given->first_sequence, batch, query_rows);
        return status;
    }
    status = check_ragged(where, ragged, given, query_rows, key_rows);
    if (status == HEADWISE_OK && cache)
        status = check_numbers(where, cache, ragged);
    if (status == HEADWISE_OK && appends)
        status = check_once(where, cache, ragged);
    for (int64_t b = 0; status == HEADWISE_OK && appends && b < ragged->n_sequences; b++)
        status = headwise_check_room(where, cache, headwise_ragged_sequence(ragged, b), 1,
                                     headwise_ragged_queries(ragged, b));
    return status;
}

int64_t headwise_most_keys(const struct headwise_attention_call *given,
                           const struct headwise_ragged *ragged, int64_t batch,
                           int64_t n_appended) {
    const int64_t *lengths = given->cache->lengths;
    int64_t most = 0;
    for (int64_t b = 0; ragged->query_starts && b < ragged->n_sequences; b++)
        most = headwise_max(most, lengths[headwise_ragged_sequence(ragged, b)] +
                                      (n_appended > 0 ? headwise_ragged_queries(ragged, b) : 0));
    for (int64_t b = 0; !ragged->query_starts && b < batch; b++)
        most = headwise_max(most, lengths[given->first_sequence + b] + n_appended);
    return most;
}

enum headwise_status headwise_check_positions(const char *where, const int64_t *positions,
                                              int64_t batch, int64_t rows, int64_t first,
                                              int64_t n_positions) {
    if (!positions && batch > 0 && rows > 0 && (first < 0 || rows > n_positions - first))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: rows stand at positions %lld to %lld, expected 0 to %lld, the end "
            "of the table",
            where, (long long)first, (long long)(first + rows - 1), (long long)(n_positions - 1));
    for (int64_t at = 0; positions && at < batch * rows; at++) {
        if (positions[at] < 0 || positions[at] >= n_positions)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: positions[%lld][%lld] is %lld, expected 0 to %lld", where,
                                 (long long)(at / rows), (long long)(at % rows),
                                 (long long)positions[at], (long long)(n_positions - 1));
    }
    return HEADWISE_OK;
}
