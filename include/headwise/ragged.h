/* Sequences of different lengths in one call, packed one after another without padding. */
#ifndef HEADWISE_RAGGED_H
#define HEADWISE_RAGGED_H

#include "cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where each of B sequences lies among the rows of tensors whose batch axis has size 1. Sequence b
 * has the queries query_starts[b] ... query_starts[b + 1] - 1 and the keys key_starts[b] ...
 * key_starts[b + 1] - 1: S_b and T_b of them, 0 allowed in either. The arrays are what
 * flash-attention's varlen functions take as cu_seqlens_q and cu_seqlens_k, of the same type, and
 * what a prefix sum over lengths gives. They never decrease and stay within 0 ... number of rows;
 * the first need not be 0 nor the last the number of rows: rows outside belong to no sequence. */
struct headwise_ragged {
    size_t size;                 /* sizeof(struct headwise_ragged) */
    int64_t n_sequences;         /* B; 0 is a call that does nothing */
    const int32_t *query_starts; /* [B + 1] */
    const int32_t *key_starts;   /* [B + 1]; NULL: query_starts, for self attention */
    /* [B], for the calls over a cache, others do not read it: the number of each sequence in the
     * cache, in any order; NULL: 0, 1, 2 ... B - 1. */
    const int64_t *cache_sequences;
};

/* y = attention(q, k, v) of each sequence on its own.
 *   q (1, H, Rq, D), k (1, Hkv, Rk, D), v (1, Hkv, Rk, Dv), y (1, H, Rq, Dv), as in
 *   headwise_attention(). A packed array (rows, heads, head size) is
 *   headwise_tensor_brhc(data, dtype, 1, rows, heads, head_size).
 * Sequence b gives the bits of headwise_attention() on its rows alone as batch entry 0, whatever
 * the other sequences and the number of threads are. A sequence without queries does nothing; one
 * without keys gives zeros, as where every key is hidden. Rows of q, k, v that belong to no
 * sequence are not read, such rows of y and of the outputs below are not written.
 *
 * Of options, all that is said of batch entry b holds for sequence b: o of causal masks and windows
 * is 0, or T_b - S_b for bottom-right; query_offsets [B], key_lengths [B] (0 ... T_b), head_gates
 * with gate_batch_stride. mask, past_* and present_* must be NULL: they have no ragged shape.
 * Outputs of the probe, R = Rq:
 *   lse, statistics [H][R] and head_outputs [H][R][Dv]: one row for each row of q;
 *   weights and scores: the arrays [H][S_b][T_b] of the sequences one after another, sequence b
 *     from element H * (S_0 * T_0 + ... + S_(b-1) * T_(b-1)) on; mean_weights: [S_b][T_b], H = 1.
 *
 * Memory is that of the largest sequence, and 48 bytes for each of the B. Sequences are worked on
 * in the order of their size, large ones by several threads.
 *
 * HEADWISE_ERR_INVALID as in headwise_attention(), and: ragged or query_starts is NULL,
 * ragged->size is not one this library knows, n_sequences is negative, a start is negative, smaller
 * than the one before it or beyond the rows, a batch axis is not 1, a mask, past or present is
 * given. HEADWISE_ERR_NO_MEMORY: scratch could not grow. Failure leaves every output untouched. */
HEADWISE_API enum headwise_status
headwise_attention_ragged(headwise_context *context, const struct headwise_tensor *y,
                          const struct headwise_tensor *q, const struct headwise_tensor *k,
                          const struct headwise_tensor *v, const struct headwise_ragged *ragged,
                          const struct headwise_attention_options *options);

/* A layer over ragged rows: headwise_mha_forward() of each sequence on its own.
 *   x (1, 1, Rq, d_model), y (1, 1, Rq, d_out), memory (1, 1, Rk, d_memory), or NULL: then keys are
 *   of x's own rows, and key_starts is NULL or equal to query_starts.
 * All rows are projected together. With rotary, options->positions is [Rq]; NULL: each row's
 * position is its place in its sequence. Rows of x that belong to no sequence attend to nothing:
 * their y is b_O and their contributions, [H][Rq][d_out], are 0; the other outputs of the probe
 * are not written there.
 * Bits, options, probe and errors as above and in headwise_mha_forward(). */
HEADWISE_API enum headwise_status headwise_mha_forward_ragged(
    headwise_context *context, const headwise_mha *mha, const struct headwise_tensor *y,
    const struct headwise_tensor *x, const struct headwise_tensor *memory,
    const struct headwise_ragged *ragged, const struct headwise_attention_options *options);

/* Over a cache: sequence b is number cache_sequences[b] of the cache, with a length and a number of
 * new rows, S_b, of its own. So one call does a step of all that a server has at work: chunks of
 * new prompts beside single tokens, in whatever places of the cache they are. key_starts is NULL or
 * equal to query_starts. Sequences of the cache that are not named are not read.
 *
 * append: rows query_starts[b] ... query_starts[b + 1] - 1 of k (1, Hkv, R, D) and v (1, Hkv, R,
 * Dv) go to sequence b as in headwise_cache_append(). Each sequence may be named once.
 * HEADWISE_ERR_FULL: a sequence has no room for its rows. HEADWISE_ERR_INVALID as in
 * headwise_cache_append() and above, and: a number names no sequence of the cache or comes twice.
 * HEADWISE_ERR_NO_MEMORY: scratch could not grow. On failure nothing has changed. */
HEADWISE_API enum headwise_status
headwise_cache_append_ragged(headwise_context *context, headwise_cache *cache,
                             const struct headwise_tensor *k, const struct headwise_tensor *v,
                             const struct headwise_ragged *ragged);

/* y = attention(q, keys and values of the cache) of each sequence on its own: the bits of
 * headwise_attention_cached() on its rows with first_sequence = cache_sequences[b], whatever comes
 * with them and the number of threads. q (1, H, R, D), y (1, H, R, Dv).
 * Query i of sequence b stands at position length - S_b + i of its sequence; a sequence may be
 * named twice. Options, outputs of the probe, memory and errors as in headwise_attention_ragged(),
 * with T_b the sequence's length; and as in headwise_attention_cached(). */
HEADWISE_API enum headwise_status
headwise_attention_ragged_cached(headwise_context *context, const struct headwise_tensor *y,
                                 const struct headwise_tensor *q, const headwise_cache *cache,
                                 const struct headwise_ragged *ragged,
                                 const struct headwise_attention_options *options);

/* A layer over it: x (1, 1, R, d_model), y (1, 1, R, d_out), all rows projected together. forward
 * appends each sequence's keys, then its rows attend: headwise_mha_forward_cached() of each
 * sequence on its own. attend appends nothing, as headwise_mha_attend(). With rotary,
 * options->positions is [R]; NULL: each row's place in its sequence of the cache. Rows of no
 * sequence as in headwise_mha_forward_ragged(). Errors as in these functions and in
 * headwise_cache_append_ragged(); on failure neither y nor the cache has changed. */
HEADWISE_API enum headwise_status
headwise_mha_forward_ragged_cached(headwise_context *context, const headwise_mha *mha,
                                   const struct headwise_tensor *y, const struct headwise_tensor *x,
                                   headwise_cache *cache, const struct headwise_ragged *ragged,
                                   const struct headwise_attention_options *options);
HEADWISE_API enum headwise_status
headwise_mha_attend_ragged_cached(headwise_context *context, const headwise_mha *mha,
                                  const struct headwise_tensor *y, const struct headwise_tensor *x,
                                  const headwise_cache *cache, const struct headwise_ragged *ragged,
                                  const struct headwise_attention_options *options);

#ifdef __cplusplus
}
#endif
#endif
