/* The cache: keys and values of one layer for a batch of sequences, kept between calls. */
#ifndef HEADWISE_CACHE_H
#define HEADWISE_CACHE_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys and values of n_sequences sequences, each with a length of its own. Element types:
 *   F32        exact
 *   F16, BF16  rounded once, to nearest even, when appended
 *   I8         groups of 32 components of a head (the last one shorter where the head size is no
 *              multiple of 32), each group of each key with one f32 scale = largest magnitude / 127
 *              and integers x / scale rounded to nearest even: what is read is integer * scale, off
 *              by at most (1/2 + 2^-16) scale: half an integer, and the roundings of x / scale and
 *              of integer * scale, 127 * 2^-24 each. Scales are held within [2^-126, 2^128 / 127),
 * so that products neither vanish nor overflow. There is no infinity in this type: a group that
 * holds a NaN or an infinity is read as NaN. Attention over a cache computes on what would be read
 * from it, in f32, and has the same bits as headwise_attention() on those numbers.
 *
 * Without a window a sequence holds every key that was appended, at most capacity of them.
 *
 * With a window W the cache is a ring: sequences may grow for ever, and their oldest keys are
 * dropped. What it holds of each sequence are the first F = window_first keys and the last
 * capacity - F keys, or more. Positions go on counting, so that everything that counts by position
 * (windows, biases, rotary) stays as it is. Attention over a ring needs a window: window_is_set,
 * window_left from 0 to W - 1 (the query's own key is the W-th), window_first at most F. It then
 * gives the same bits as over a cache that holds everything. So that each row of a chunk still
 * finds its W keys, a chunk may have capacity - F - W + 1 rows: token by token, capacity = F + W is
 * enough; a prompt in chunks of n needs F + W + n - 1. The first chunks of a sequence may be
 * longer, as long as it stays within the capacity. */
struct headwise_cache_config {
    size_t size;         /* sizeof(struct headwise_cache_config) */
    int64_t n_sequences; /* 1 or more */
    int64_t n_kv_heads;  /* Hkv, 1 or more */
    int64_t head_dim;    /* D of the keys, 1 or more */
    int64_t value_dim;   /* Dv of the values; 0: head_dim */
    int64_t capacity;    /* keys per sequence, 1 or more; memory is taken in blocks of 256 keys */
    enum headwise_dtype dtype; /* F32, F16, BF16, I8; of keys and values */
    int64_t window;            /* 0: no key is dropped; else W, 1 or more: a ring */
    int64_t window_first;      /* F of a ring, 0 or more; F + W <= capacity */
};

/* The bytes that headwise_cache_create() takes from the allocator for this config, in one piece,
 * nearly all of them for keys and values: n_sequences * ceil(capacity / 256) blocks; of a ring,
 * n_sequences * (ceil(F / 256) + ceil((capacity - F + 255) / 256)). Memory is first touched when
 * keys arrive. HEADWISE_ERR_INVALID: a pointer is NULL or the config is wrong;
 * HEADWISE_ERR_NO_MEMORY: the size overflows. On failure *bytes is unchanged. */
HEADWISE_API enum headwise_status headwise_cache_bytes(headwise_context *context,
                                                       const struct headwise_cache_config *config,
                                                       size_t *bytes);

/* Creates a cache whose sequences are empty, for the context's tier, with its allocator, and stores
 * it in *cache. It does not refer to the context afterwards, but the allocator must stay usable.
 * Calls that take a context need one of the same tier.
 * Any number of threads may read a cache at once (attention, getters, read, save), each with its
 * own context; a call that changes it (append, truncate, copy, reorder, load, destroy) must be
 * alone. HEADWISE_ERR_INVALID: a pointer is NULL, a size is out of its range.
 * HEADWISE_ERR_NO_MEMORY. On failure *cache is unchanged. */
HEADWISE_API enum headwise_status headwise_cache_create(headwise_cache **cache,
                                                        headwise_context *context,
                                                        const struct headwise_cache_config *config);

/* Frees the cache. NULL is allowed. */
HEADWISE_API void headwise_cache_destroy(headwise_cache *cache);

/* The config, defaults filled in. Lives as long as the cache, which must not be NULL. */
HEADWISE_API const struct headwise_cache_config *
headwise_cache_describe(const headwise_cache *cache);

/* Keys appended to the sequence so far: the position of the next one.
 * -1 where cache is NULL or has no such sequence. */
HEADWISE_API int64_t headwise_cache_length(const headwise_cache *cache, int64_t sequence);

/* Rows that can be appended to the sequence now: capacity - length, and of a ring never less than
 * capacity - F - W + 1. -1 as above. */
HEADWISE_API int64_t headwise_cache_room(const headwise_cache *cache, int64_t sequence);

/* 0 where no key of the sequence was dropped; else the position from which on all are held, as are
 * 0 ... F-1. -1 as above. */
HEADWISE_API int64_t headwise_cache_held_from(const headwise_cache *cache, int64_t sequence);

/* Appends the rows of call's k and v to sequences of call's cache, rounded once to the cache's
 * type, whatever the chunks they arrive in: L rows to each of the n sequences from first_sequence
 * on, k (n, Hkv, L, D), v (n, Hkv, L, Dv), F32, F16 or BF16 each on its own; n and L may be 0; or,
 * of k (1, Hkv, R, D) and v (1, Hkv, R, Dv), rows query_starts[b] ... query_starts[b + 1] - 1 to
 * sequence cache_sequences[b], each named once. Nothing else of call is read.
 * HEADWISE_ERR_FULL: a sequence has no room for its rows. HEADWISE_ERR_INVALID: a pointer is NULL,
 * a type or size does not fit, a sequence does not exist or comes twice, starts are not as said in
 * attention.h, the tiers differ. HEADWISE_ERR_NO_MEMORY: scratch could not grow. On failure nothing
 * has changed. */
HEADWISE_API enum headwise_status headwise_cache_append(headwise_context *context,
                                                        const struct headwise_attention_call *call);

/* Forgets the keys of a sequence from position length on; length 0 empties it. What a ring dropped
 * does not come back: it can be shortened to F or less, or to capacity - F - W + 1 keys less than
 * the longest it has been. HEADWISE_ERR_INVALID: cache is NULL, no such sequence, length is outside
 * [0, its length], a ring has dropped a key that the next row would see. Nothing has changed. */
HEADWISE_API enum headwise_status headwise_cache_truncate(headwise_cache *cache, int64_t sequence,
                                                          int64_t length);

/* Makes sequence dst equal to sequence src. Both share the memory of what they have in common until
 * one of them writes to a block of it: copying a prompt costs nothing but a table, and the copies
 * read the same memory.
 * HEADWISE_ERR_INVALID: cache is NULL, no such sequence. */
HEADWISE_API enum headwise_status headwise_cache_copy(headwise_cache *cache, int64_t dst,
                                                      int64_t src);

/* Makes every sequence i equal to what sequence from[i] was before the call; from has n_sequences
 * elements and may name a sequence any number of times. Shares memory as headwise_cache_copy().
 * HEADWISE_ERR_INVALID: a pointer is NULL, from names no sequence. Nothing has changed. */
HEADWISE_API enum headwise_status headwise_cache_reorder(headwise_cache *cache,
                                                         const int64_t *from);

/* Reads rows position, position + 1, ... of a sequence as f32, as many as the tensors have:
 *   k (1, Hkv, R, D), v (1, Hkv, R, Dv), F32; either may be NULL.
 * HEADWISE_ERR_INVALID: cache is NULL, no such sequence, a type or size does not fit, or a row is
 * not held (beyond the length, or dropped). On failure nothing was written. */
HEADWISE_API enum headwise_status headwise_cache_read(const headwise_cache *cache, int64_t sequence,
                                                      int64_t position,
                                                      const struct headwise_tensor *k,
                                                      const struct headwise_tensor *v);

/* One sequence as bytes, for a file or another process: rows in plain order, the same whatever the
 * tier, block sharing and capacity. One part after another, without gaps:
 *
 *   - 16 64-bit integers: "HWCACHE" and a 0 byte; 0x0102030405060708; version 1; size of all in
 *     bytes; type as in headwise_dtype; Hkv; D; Dv; length; dropped_from; dropped_to; five zeros;
 *   - I8 only, f32: scales of the keys [Hkv][n][ceil(D / 32)], of the values
 *     [Hkv][n][ceil(Dv / 32)];
 *   - in the cache's type: keys [Hkv][n][D], values [Hkv][n][Dv].
 *
 * Integers and elements are in the byte order of the machine that saved; the second integer tells a
 * machine of the other order, which refuses them. The n rows are those of positions 0 ... length-1
 * without dropped_from ... dropped_to-1, which are multiples of 256, or 0 where no row was dropped.
 *
 * What was loaded is what was saved, bit for bit, on any tier: attention over both is the same. */

/* The bytes that headwise_cache_save() writes for a sequence as it is now.
 * HEADWISE_ERR_INVALID: a pointer is NULL, no such sequence. On failure *bytes is unchanged. */
HEADWISE_API enum headwise_status headwise_cache_saved_bytes(const headwise_cache *cache,
                                                             int64_t sequence, size_t *bytes);

/* Writes a sequence to buffer, size_bytes long as headwise_cache_saved_bytes() says, aligned to 4
 * bytes. May run beside other calls that read the cache.
 * HEADWISE_ERR_INVALID: a pointer is NULL, no such sequence, size_bytes differs, buffer is not
 * aligned. Nothing was written. */
HEADWISE_API enum headwise_status headwise_cache_save(const headwise_cache *cache, int64_t sequence,
                                                      void *buffer, size_t size_bytes);

/* Makes a sequence what was saved in buffer, size_bytes long, aligned to 4 bytes. Every byte may be
 * hostile: numbers come out as they are in there, but nothing else can happen than an error.
 * HEADWISE_ERR_FORMAT: it is not a saved sequence, of another version or byte order, cut short, or
 * holds scales or integers that no append gives. HEADWISE_ERR_FULL: it is longer than the capacity.
 * HEADWISE_ERR_INVALID: a pointer is NULL, no such sequence, buffer is not aligned, Hkv, D, Dv or
 * the type are not the cache's, keys that the cache must hold were dropped before it was saved.
 * Capacity and window may differ: a ring takes what fits, the last keys first. On failure the cache
 * has not changed. */
HEADWISE_API enum headwise_status headwise_cache_load(headwise_cache *cache, int64_t sequence,
                                                      const void *buffer, size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
