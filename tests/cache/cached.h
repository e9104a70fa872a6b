/* Caches in tests: in memory whose untouched bytes are a pattern, filled in chunks. */
#ifndef TESTS_CACHED_H
#define TESTS_CACHED_H

#include "call.h"

/* A context of the tier whose allocator fills everything with a byte: 0xFF is NaN in every type.
 * The caller destroys it. */
headwise_context *cached_context(enum headwise_isa isa, int n_threads, unsigned char garbage);

/* The piece of memory that a context's allocator gave last: a cache's, once it was created. */
struct cached_memory {
    void *memory;
    size_t size_bytes;
    int64_t n_calls;
};

/* cached_context(), which also notes what it gave in *last, for as long as it lives. */
headwise_context *cached_context_noting(enum headwise_isa isa, int n_threads,
                                        struct cached_memory *last);

/* The memory of a cache: the piece that it begins. */
struct cached_memory cached_memory_of(headwise_context *context, const headwise_cache *cache);

/* A copy of the memory, freed with the test, and that nothing in it has changed since. */
void *cached_snapshot(const struct cached_memory *memory);
void cached_expect_unchanged(const struct cached_memory *memory, const void *snapshot,
                             const char *what);

/* A number of threads for a run in chunks, 1 to 3: one where there are so many calls that waking
 * threads takes all the time, as it does under emulation. */
int cached_threads(int64_t chunk, int turn);

/* A cache that must be creatable; config's size is filled in. The caller destroys it. */
headwise_cache *cached_create(headwise_context *context, struct headwise_cache_config config);

/* The config of a cache for k and v, one sequence for each batch entry. */
struct headwise_cache_config cached_config(const struct headwise_tensor *k,
                                           const struct headwise_tensor *v, int64_t capacity,
                                           enum headwise_dtype dtype);

/* Batch entries b ... b+n_batch-1 and rows r ... r+n_rows-1 of a tensor. */
struct headwise_tensor cached_view(const struct headwise_tensor *t, int64_t b, int64_t n_batch,
                                   int64_t r, int64_t n_rows);

/* Calls over the sequences of a cache from `first` on; *given, which may be NULL, holds the rest.
 */
enum headwise_status cached_try_append(headwise_context *context, headwise_cache *cache,
                                       int64_t first, const struct headwise_tensor *k,
                                       const struct headwise_tensor *v);
enum headwise_status cached_try_attention(headwise_context *context,
                                          const struct headwise_tensor *y,
                                          const struct headwise_tensor *q, headwise_cache *cache,
                                          int64_t first,
                                          const struct headwise_attention_call *given);
enum headwise_status cached_try_forward(headwise_context *context, const headwise_mha *mha,
                                        const struct headwise_tensor *y,
                                        const struct headwise_tensor *x, headwise_cache *cache,
                                        int64_t first, const struct headwise_attention_call *given);
enum headwise_status cached_try_mha_append(headwise_context *context, const headwise_mha *mha,
                                           headwise_cache *cache, int64_t first,
                                           const struct headwise_tensor *memory,
                                           const struct headwise_attention_call *given);

/* What is given by options alone. */
struct headwise_attention_call cached_given(const struct headwise_attention_options *options);

/* Appends all rows of k and v to the sequences from `sequence` on, `chunk` rows at a time. */
void cached_append(headwise_context *context, headwise_cache *cache, int64_t sequence,
                   const struct headwise_tensor *k, const struct headwise_tensor *v, int64_t chunk);

/* What the cache holds of a sequence, positions `from` to its length, as (1, Hkv, n, columns). */
void cached_read(const headwise_cache *cache, int64_t sequence, int64_t from,
                 struct headwise_tensor *k, struct headwise_tensor *v);

/* What n components of a head are read as once they were stored in the type: the formulas of
 * cache.h. out may be row. */
void cached_round(enum headwise_dtype dtype, float *out, const float *row, int64_t n);

/* The call must succeed. */
void cached_expect_ok(enum headwise_status status, const char *what);

/* Fails unless both views, f32 of one size, hold the same bits. */
void cached_expect_same(const struct headwise_tensor *got, const struct headwise_tensor *want,
                        const char *what);

#endif
