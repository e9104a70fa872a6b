/* Checks of arguments. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_H
#define HEADWISE_CHECK_H

#include "api/check_tensor.h"
#include "attention/call.h"

/* Fills call's options, probe, and every size from the shapes below, checking all of them.
 * where begins the error text ("attention"). k_type and v_type are the types of past and present.
 */
struct headwise_shape {
    int64_t batch, n_heads, n_kv_heads, n_queries, n_new_keys, head_dim, value_dim;
    const int64_t *group_starts; /* as in the call; NULL: n_kv_heads must divide n_heads */
    enum headwise_dtype k_type, v_type;
    const headwise_cache *cache; /* or NULL: then k and v are tensors */
    int64_t first_sequence;
    int64_t n_appended;                   /* rows that the call appends to each sequence */
    const struct headwise_ragged *ragged; /* checked, with key_starts; or NULL */
};

enum headwise_status headwise_check_call(struct headwise_call *call, const char *where,
                                         const struct headwise_shape *shape,
                                         const struct headwise_attention_options *options);

/* That cache is there and has the sequence. */
enum headwise_status headwise_check_sequence(const char *where, const headwise_cache *cache,
                                             int64_t sequence);

/* That both are there, for the same tier, and the cache has n sequences from first_sequence on. */
enum headwise_status headwise_check_cache(const char *where, const headwise_context *context,
                                          const headwise_cache *cache, int64_t first_sequence,
                                          int64_t n);

/* That n_rows rows can be appended to each of these sequences, else HEADWISE_ERR_FULL. */
enum headwise_status headwise_check_room(const char *where, const headwise_cache *cache,
                                         int64_t first_sequence, int64_t n, int64_t n_rows);

/* That a call over a ring sees through a window that the ring keeps, and that none of the keys in
 * it was dropped. Others pass. */
enum headwise_status headwise_check_ring(const char *where, const struct headwise_call *call);

/* The largest length of these sequences. */
int64_t headwise_most_keys(const headwise_cache *cache, int64_t first_sequence, int64_t n);

/* Copies the caller's struct, fills in key_starts, checks sizes and starts. query_rows, key_rows:
 * rows that the starts count; key_rows -1: those of the queries, which key_starts must then equal.
 */
enum headwise_status headwise_check_ragged(const char *where, struct headwise_ragged *ragged,
                                           const struct headwise_ragged *given, int64_t query_rows,
                                           int64_t key_rows);

/* That the cache is there, for the context's tier, and has all of these sequences, which are
 * checked already; and that it has room for their rows where appended, which is then the same
 * cache, names each once; else NULL. */
enum headwise_status headwise_check_ragged_cache(const char *where, const headwise_context *context,
                                                 const headwise_cache *cache,
                                                 headwise_cache *appended,
                                                 const struct headwise_ragged *ragged);

/* The largest number of keys of these sequences, with the rows that are appended. */
int64_t headwise_most_ragged_keys(const headwise_cache *cache, const struct headwise_ragged *ragged,
                                  bool appends);

/* That options ask for nothing that has no ragged shape. options may be NULL or of any size. */
enum headwise_status
headwise_check_ragged_options(const char *where, const struct headwise_attention_options *options);

#endif
