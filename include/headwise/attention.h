/* The attention operator: Q, K, V and masks to Y. No weights. */
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

/* Everything between the scores and Y. Zero in every field but size is plain softmax attention.
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
    const int64_t *query_offsets; /* [B] or NULL: overrides o above; any value */
    const int64_t *key_lengths;   /* [B] or NULL: keys from key_lengths[b] on are hidden; 0 ... T */

    bool window_is_set;   /* false: no window */
    int64_t window_left;  /* keys before the query's position that it sees; -1: all */
    int64_t window_right; /* the same after it. Both exclude the query's own position. */

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

    /* The type the masked scores are rounded to before the softmax, which is f32: F32 (no
     * rounding), F16 or BF16. */
    enum headwise_dtype softmax_precision;

    const struct headwise_probe *probe; /* NULL: nothing more than y */

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

    /* Keys 0 ... window_first-1 stay in sight whatever window_left says (the first tokens, which
     * models use as a place to attend to nothing); all other limits hold for them too. The keys
     * between them and the window are not touched. 0 or more; without a window of no effect. */
    int64_t window_first;

    /* Layers with rotary: [B][S], the position of each row of x, 0 ... n_positions-1 of the layer's
     * table. NULL: number of past keys + row; with a cache, the row's place in its sequence. They
     * turn queries and keys, and neither hide a key nor enter a bias. A layer without rotary does
     * not read them, the operator refuses them. */
    const int64_t *positions;
};

/* y = attention(q, k, v).
 *   q (B, H, S, D), k (B, Hkv, L, D), v (B, Hkv, L, Dv), y (B, H, S, Dv). Each is F32, F16 or BF16
 *   on its own; arithmetic is f32 and y is rounded once.
 *   Query head h reads kv head h / (H / Hkv). B, H, S, L of 0 are allowed: y is then empty, or zero
 *   where there is no key.
 * options may be NULL: all zero. y may not overlap any input.
 * The result has the same bits for any number of threads, any batch the entry is part of, any split
 * of its queries over calls (same keys, same positions), and on every tier but scalar.
 *
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, a type or size does not fit, H is not
 * divisible by Hkv, D or Dv is 0, a stride is negative, a size product overflows, scale or softcap
 * is not finite, a sink is NaN or +inf, an ALiBi slope is not finite, relative_reach or
 * window_first is negative, key_lengths[b] is outside [0, T], a window side is below -1,
 * options->size or probe->size is not one this library knows. HEADWISE_ERR_NO_MEMORY: scratch could
 * not grow. Failure leaves every output untouched. */
HEADWISE_API enum headwise_status
headwise_attention(headwise_context *context, const struct headwise_tensor *y,
                   const struct headwise_tensor *q, const struct headwise_tensor *k,
                   const struct headwise_tensor *v,
                   const struct headwise_attention_options *options);

#ifdef __cplusplus
}
#endif
#endif
