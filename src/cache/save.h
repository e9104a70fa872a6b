/* A sequence as bytes: the form that cache.h describes. */
#ifndef HEADWISE_SRC_CACHE_SAVE_H
#define HEADWISE_SRC_CACHE_SAVE_H

#include "cache/cache.h"

/* The rows of a sequence: 0 ... length-1 without dropped_from ... dropped_to-1. */
struct headwise_saved_rows {
    int64_t length, dropped_from, dropped_to;
};

/* Those that a sequence holds now. */
struct headwise_saved_rows headwise_saved_rows_of(const headwise_cache *cache, int64_t sequence);

/* Bytes of a saved sequence with these rows and the cache's sizes; -1 where that overflows. */
int64_t headwise_saved_size(const headwise_cache *cache, const struct headwise_saved_rows *rows);

/* Writes that many bytes. */
void headwise_saved_write(const headwise_cache *cache, int64_t sequence, void *buffer);

/* Checks everything in the buffer but whether the cache has room for its rows, which are put into
 * *rows. HEADWISE_ERR_FORMAT, HEADWISE_ERR_INVALID as headwise_cache_load(). */
enum headwise_status headwise_saved_check(struct headwise_saved_rows *rows, const char *where,
                                          const headwise_cache *cache, const void *buffer,
                                          size_t size_bytes);

/* Puts a checked buffer, for whose rows there is room, into a sequence. Cannot fail. */
void headwise_saved_read(headwise_cache *cache, int64_t sequence,
                         const struct headwise_saved_rows *rows, const void *buffer);

#endif
