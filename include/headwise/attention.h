/* The attention operator, Q, K, V and masks to Y, and the struct that every call takes. */
#ifndef HEADWISE_ATTENTION_H
#define HEADWISE_ATTENTION_H

#include "context.h"
#include "probe.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which keys a query may see by position. With o the offset of the batch entry, query i stands at
 * position i + o on the axis of the keys (past keys first), and a causal query sees the keys at its
 * position and before. */
enum headwise_causal {
    HEADWISE_CAUSAL_NONE = 0,     /* o = number of past keys; no causal limit */
    HEADWISE_CAUSAL_TOP_LEFT = 1, /* o = number of past keys (0 without a past) */
    HEADWISE_CAUSAL_BOTTOM_RIGHT =
        2 /* o = key_lengths[b] (T without lengths) - S; may be negative */
};

/* Everything between the scores and Y that belongs to a model's layer and stays from call to call.
 * Zero in every field but size is plain softmax attention.
 *
 *   s = scale * q.k ; s = softcap * tanh(s / softcap) ; s = s + biases + mask ; hide
 *   weights = softmax(s) ; y = gate * weights.V
 *
 * A key is visible where all of mask, causal, window and key_lengths allow it. What is hidden is
 * never read into a result: NaN or Inf in a hidden key or value changes no bit of y. NaN in a
 * visible one comes out as NaN, in every output but the scores with the bits 0x7fc00000. A row that
 * sees no key gives zeros. Numerators are at most 1, and a row's sum is divided by theirs last:
 * values so large that as many of them as are seen sum beyond f32 give infinity. With a sink the
 * softmax counts one more logit: weights[j] = exp(s[j]) / (exp(sink) + sum of exp(s)). */
struct headwise_attention_options {
    size_t size; /* sizeof(struct headwise_attention_options) */

    bool scale_is_set; /* false: scale = 1 / sqrt(D) */
    float scale;       /* used as given, 0 and negative too; must be finite */
    float softcap;     /* 0: none; else finite and > 0 */

    enum headwise_causal causal;

    bool window_is_set;   /* false: no window */
    int64_t window_left;  /* keys before the query's position that it sees; -1: all */
    int64_t window_right; /* the same after it. Both exclude the query's own position. */
    /* Keys 0 ... window_first-1 stay in sight whatever window_left says (the first tokens, which
     * models use as a place to attend to nothing); all other limits hold for them too. The keys
     * between them and the window are not touched. 0 or more; without a window of no effect. */
    int64_t window_first;

    /* Attention sinks: one logit per query head, [H], or NULL. It joins the maximum and the sum of
     * the head's softmax and has no value, so weights sum to less than 1. Finite, or -inf: none for
     * that head. A row that sees no key then has output 0 and log-sum-exp = the sink. */
    const float *sinks;

    /* Biases by position, added to the score after the softcap and before the mask, in this order.
     * p is the query's position (i + o, see headwise_causal), j the key's number.
     *
     * ALiBi (Press, Smith, Lewis 2022): -alibi_slopes[h] * |p - j|; [H], finite, or NULL. A model
     * that scales after adding it (Falcon) wants slopes times the scale. */
    const float *alibi_slopes;
    /* One number per head and distance (T5): element [h][clamp(j - p, -r, r) + r] of an array
     * [H][2 * r + 1] with r = relative_reach, 0 or more; or NULL. -inf hides the key. */
    const float *relative_bias;
    int64_t relative_reach;

    /* The type the masked scores are rounded to before the softmax, which is f32: F32 (no
     * rounding), F16 or BF16. */
    enum headwise_dtype softmax_precision;
};

typedef struct headwise_cache headwise_cache; /* cache.h */

/* One call: what goes in, what comes out, and what holds for this call alone. The same struct is
 * taken by headwise_attention(), headwise_cache_append(), the calls of a layer (mha.h, heads.h) and
 * headwise_map_correlation(). Zero in a field means that there is none.
 *
 * Rows are a batch, B entries of S queries each, or, where query_starts is given, sequences of
 * different lengths packed one after another in tensors whose batch axis has size 1. Keys are
 * tensors, or those of a cache. */
struct headwise_attention_call {
    size_t size; /* sizeof(struct headwise_attention_call) */

    const struct headwise_tensor *y;         /* output of attention and of a layer */
    const struct headwise_tensor *q, *k, *v; /* of attention; outputs of headwise_mha_project() */
    const struct headwise_tensor *x;         /* of a layer: queries, and keys without a memory */
    const struct headwise_tensor *memory; /* of a layer: where keys and values come from; NULL: x */

    /* Keys and values of a cache in the place of k and v. Batch entry b is its sequence
     * first_sequence + b; first_sequence is 0 without a cache or with query_starts. attend_only,
     * for layers: x's keys are not appended. */
    headwise_cache *cache;
    int64_t first_sequence;
    bool attend_only;

    /* Sequence b, 0 ... n_sequences-1, has the queries query_starts[b] ... query_starts[b + 1] - 1
     * and the keys key_starts[b] ... key_starts[b + 1] - 1: S_b and T_b of them, 0 allowed in
     * either. The arrays are what flash-attention's varlen functions take as cu_seqlens_q and
     * cu_seqlens_k, of the same type, and what a prefix sum over lengths gives. They never decrease
     * and stay within 0 ... number of rows; the first need not be 0 nor the last the number of
     * rows: rows outside belong to no sequence, they are not read, and not written where they are
     * outputs. n_sequences may be 0: nothing is done. */
    int64_t n_sequences;
    const int32_t *query_starts; /* [n_sequences + 1]; NULL: rows are a batch */
    const int32_t *key_starts;   /* [n_sequences + 1]; NULL: query_starts, as in self attention and
                                  * wherever keys are a cache's or appended to one */
    /* [n_sequences]: the number of each sequence in the cache, in any order; NULL: 0, 1, 2 ...
     * Sequences of the cache that are not named are not read. A call that appends names each once.
     * NULL without a cache. */
    const int64_t *cache_sequences;

    const struct headwise_attention_options *options; /* NULL: all zero */

    /* [B], or [n_sequences], or NULL. query_offsets: o of headwise_causal, any value. key_lengths:
     * keys from key_lengths[b] on are hidden; 0 ... T. */
    const int64_t *query_offsets;
    const int64_t *key_lengths;

    /* Layers with rotary: [B][S] (or one for each packed row), the position of each row that is
     * projected, 0 ... n_positions-1 of the layer's table. NULL: number of past keys + row; with a
     * cache or starts, the row's place in its sequence. They turn queries and keys, and neither
     * hide a key nor enter a bias. A layer without rotary does not read them. */
    const int64_t *positions;

    /* NULL, or a view that broadcasts to (B, H, S, T): each of the first three axes has its full
     * size, or size 1 (any stride), which is broadcast. BOOL: true = may attend. F32, F16, BF16:
     * added to the score; -inf hides the key. The last axis has stride 1 and at most T elements:
     * keys beyond them are hidden; or it has stride 0 and at least one element, which then holds
     * for every key. */
    const struct headwise_tensor *mask;

    /* Keys and values that come before k and v: (B, Hkv, P, D) and (B, Hkv, P, Dv), both or
     * neither, of k's and v's type. T = P + number of rows of k. */
    const struct headwise_tensor *past_key;
    const struct headwise_tensor *past_value;

    /* Outputs, NULL where not wanted: past and new rows one after the other, (B, Hkv, T, D) and
     * (B, Hkv, T, Dv), of k's and v's type. May not overlap past_key or past_value. */
    const struct headwise_tensor *present_key;
    const struct headwise_tensor *present_value;

    /* One factor per query head, applied after the softmax, or NULL: all 1. Element
     * [b * gate_batch_stride + h]; a stride of 0 shares them over the batch. A gate of 0 gives
     * exact zeros and skips the head's work, unless its weights, scores or lse are asked for. */
    const float *head_gates;
    int64_t gate_batch_stride;

    const struct headwise_probe *probe; /* NULL: nothing more than y */
};

/* y = attention(q, k, v).
 *   q (B, H, S, D), k (B, Hkv, L, D), v (B, Hkv, L, Dv), y (B, H, S, Dv). Each is F32, F16 or BF16
 *   on its own; arithmetic is f32 and y is rounded once. A packed array (rows, heads, head size) is
 *   headwise_tensor_brhc(data, dtype, 1, rows, heads, head_size).
 *   Query head h reads kv head h / (H / Hkv). B, H, S, L of 0 are allowed: y is then empty, or zero
 *   where there is no key.
 * y may not overlap any input. x, memory, positions and attend_only are for layers.
 *
 * The result has the same bits for any number of threads, any batch the entry is part of, any split
 * of its queries over calls (same keys, same positions), and on every tier but scalar.
 *
 * With starts: each sequence on its own, with the bits of a call on its rows alone as batch entry
 * 0, whatever the other sequences are. One without queries does nothing, one without keys gives
 * zeros. o of causal masks and windows is 0, or T_b - S_b for bottom-right. mask, past_* and
 * present_* must be NULL: they have no ragged shape. Of the probe, R rows of q: lse, statistics
 * [H][R] and head_outputs [H][R][Dv]; weights and scores are the arrays [H][S_b][T_b] of the
 * sequences one after another, sequence b from element H * (S_0 * T_0 + ... + S_(b-1) * T_(b-1))
 * on; mean_weights likewise with H = 1. Memory is that of the largest sequence, and 48 bytes for
 * each. Sequences are worked on in the order of their size, large ones by several threads.
 *
 * With a cache: k, v, past_* and present_* must be NULL; the cache is not changed. Query i stands
 * at position length - S + i of its sequence, under every value of causal: the S rows appended last
 * ask. query_offsets overrides this. key_lengths[b], 0 to the sequence's length, hides keys; only
 * bottom-right causal takes it in the place of the length. T, the number of keys that masks and
 * probes are shaped by, is the largest length of the B sequences (with starts, T_b is the
 * sequence's own, and a sequence may be named twice); a key a shorter one does not have is hidden,
 * and has -inf in scores taken before the masks. The same keys give the same bits however they were
 * appended, and as k and v that hold what headwise_cache_read() returns.
 *
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, one is given that has no meaning here, a
 * type or size does not fit, H is not divisible by Hkv, D or Dv is 0, a stride is negative, a size
 * product overflows, scale or softcap is not finite, a sink is NaN or +inf, an ALiBi slope is not
 * finite, relative_reach or window_first is negative, key_lengths[b] is outside [0, T], a window
 * side is below -1, a struct's size is not one this library knows; n_sequences is negative, a start
 * is negative, smaller than the one before it or beyond the rows; no such sequences, sizes or tier
 * other than the cache's; of a ring: no window or a wider one, a query that stands so far back that
 * a key in its window was dropped, scores before the masks.
 * HEADWISE_ERR_NO_MEMORY: scratch could not grow. Failure leaves every output untouched. */
HEADWISE_API enum headwise_status headwise_attention(headwise_context *context,
                                                     const struct headwise_attention_call *call);

#ifdef __cplusplus
}
#endif
#endif
