/* Checks of arguments. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_H
#define HEADWISE_CHECK_H

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
    int64_t n_appended; /* rows that the call appends to each sequence; packed: 1, each its own */
    const struct headwise_ragged *ragged; /* checked; or NULL: a batch */
};

enum headwise_status headwise_check_call(struct headwise_call *call, const char *where,
                                         const struct headwise_shape *shape,
                                         const struct headwise_attention_call *given);

/* The caller's struct, which must be there, with zeros for what an older one does not have. */
enum headwise_status headwise_take_call(struct headwise_attention_call *given, const char *where,
                                        const struct headwise_attention_call *call);

/* headwise_copy_options() of the caller's struct called what, which may be NULL. */
enum headwise_status headwise_copy_given(void *dst, size_t dst_size, const void *given,
                                         const char *where, const char *what);

/* That a field is NULL, which has no meaning in this call. */
enum headwise_status headwise_check_absent(const char *where, const char *name, const void *given,
                                           const char *why);

/* That rows are a batch and keys are tensors. */
enum headwise_status headwise_check_plain(const char *where,
                                          const struct headwise_attention_call *given);

bool headwise_is_float(enum headwise_dtype dtype);

/* Keeps the mask in the call: broadcasting by size 1 becomes broadcasting by stride 0. */
enum headwise_status headwise_check_mask(const char *where, struct headwise_call *call,
                                         const struct headwise_tensor *given);

/* One tensor: types F32, F16, BF16; expected sizes, -1 where any is allowed; data, strides, extent.
 */
enum headwise_status headwise_check_tensor(const char *where, const char *name,
                                           const struct headwise_tensor *t, bool is_output,
                                           int64_t batch, int64_t heads, int64_t rows,
                                           int64_t columns);

/* That cache is there and has the sequence. */
enum headwise_status headwise_check_sequence(const char *where, const headwise_cache *cache,
                                             int64_t sequence);

/* That both are there, for the same tier. */
enum headwise_status headwise_check_cache(const char *where, const headwise_context *context,
                                          const headwise_cache *cache);

/* That the cache has n sequences from first_sequence on. */
enum headwise_status headwise_check_batch(const char *where, const headwise_cache *cache,
                                          int64_t first_sequence, int64_t n);

/* That n_rows rows can be appended to each of these sequences, else HEADWISE_ERR_FULL. */
enum headwise_status headwise_check_room(const char *where, const headwise_cache *cache,
                                         int64_t first_sequence, int64_t n, int64_t n_rows);

/* That a call over a ring sees through a window that the ring keeps, and that none of the keys in
 * it was dropped. Others pass. */
enum headwise_status headwise_check_ring(const char *where, const struct headwise_call *call);

/* Whether rows are packed sequences, by any field that says so. */
bool headwise_is_packed(const struct headwise_attention_call *given);

/* Which rows belong to which sequence: packed ones, into ragged, among query_rows and key_rows rows
 * (-1: keys are of the queries' rows); else batch entries of query_rows rows. With a cache, which
 * is checked, that it has these sequences; where appends, each once and with room for its rows. */
enum headwise_status headwise_check_rows(const char *where, struct headwise_ragged *ragged,
                                         const struct headwise_attention_call *given, int64_t batch,
                                         int64_t query_rows, int64_t key_rows, bool appends);

/* The largest number of keys of these sequences of the cache, with the rows that are appended. */
int64_t headwise_most_keys(const struct headwise_attention_call *given,
                           const struct headwise_ragged *ragged, int64_t batch, int64_t n_appended);

/* HEADWISE_ERR_INVALID, with where before the text, unless each of the batch * rows positions is in
 * [0, n_positions). positions NULL: those of every batch entry are first, first + 1, ... */
enum headwise_status headwise_check_positions(const char *where, const int64_t *positions,
                                              int64_t batch, int64_t rows, int64_t first,
                                              int64_t n_positions);

#endif
