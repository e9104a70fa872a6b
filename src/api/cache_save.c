/* Saved sequences of a cache: checks, then cache/save.c. */
#include "api/check.h"
#include "base/error.h"
#include "cache/save.h"
#include "headwise/headwise.h"

static enum headwise_status check_buffer(const char *where, const void *buffer) {
    if (!buffer)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: buffer is NULL", where);
    if ((uintptr_t)buffer % sizeof(float) != 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: buffer is not aligned to %zu bytes", where,
                             sizeof(float));
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_saved_bytes(const headwise_cache *cache, int64_t sequence,
                                                size_t *bytes) {
    static const char where[] = "cache_saved_bytes";
    enum headwise_status status = headwise_check_sequence(where, cache, sequence);
    if (status != HEADWISE_OK)
        return status;
    if (!bytes)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: bytes is NULL", where);
    struct headwise_saved_rows rows = headwise_saved_rows_of(cache, sequence);
    *bytes = (size_t)headwise_saved_size(cache, &rows);
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_save(const headwise_cache *cache, int64_t sequence,
                                         void *buffer, size_t size_bytes) {
    static const char where[] = "cache_save";
    enum headwise_status status = headwise_check_sequence(where, cache, sequence);
    if (status == HEADWISE_OK)
        status = check_buffer(where, buffer);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_saved_rows rows = headwise_saved_rows_of(cache, sequence);
    size_t expected = (size_t)headwise_saved_size(cache, &rows);
    if (size_bytes != expected)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: a buffer of %zu bytes, expected %zu", where,
                             size_bytes, expected);
    headwise_saved_write(cache, sequence, buffer);
    return HEADWISE_OK;
}

/* That the cache can hold the rows, and that none it needs was dropped. */
static enum headwise_status check_rows(const char *where, const headwise_cache *cache,
                                       const struct headwise_saved_rows *rows) {
    if (cache->window == 0 && rows->length > cache->capacity)
        return headwise_fail(HEADWISE_ERR_FULL,
                             "%s: %lld keys were saved, the cache has room for %lld", where,
                             (long long)rows->length, (long long)cache->capacity);
    if (rows->dropped_to == 0)
        return HEADWISE_OK;
    int64_t needed = headwise_cache_needed_from(cache, rows->length);
    if (cache->window == 0 || rows->dropped_from < cache->first || rows->dropped_to > needed)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: saved without keys %lld to %lld, which the cache must hold",
                             where, (long long)rows->dropped_from, (long long)rows->dropped_to - 1);
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_load(headwise_cache *cache, int64_t sequence,
                                         const void *buffer, size_t size_bytes) {
    static const char where[] = "cache_load";
    struct headwise_saved_rows rows;
    enum headwise_status status = headwise_check_sequence(where, cache, sequence);
    if (status == HEADWISE_OK)
        status = check_buffer(where, buffer);
    if (status == HEADWISE_OK)
        status = headwise_saved_check(&rows, where, cache, buffer, size_bytes);
    if (status == HEADWISE_OK)
        status = check_rows(where, cache, &rows);
    if (status == HEADWISE_OK)
        headwise_saved_read(cache, sequence, &rows, buffer);
    return status;
}
