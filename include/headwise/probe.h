/* What a caller may see of the heads while attention is computed. */
#ifndef HEADWISE_PROBE_H
#define HEADWISE_PROBE_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where in the computation the scores are taken. */
enum headwise_score_stage {
    HEADWISE_SCORES_SCALED = 0, /* scale * q.k, of hidden keys too */
    HEADWISE_SCORES_CAPPED = 1, /* after the softcap, of hidden keys too */
    HEADWISE_SCORES_MASKED = 2, /* after biases and masks: -inf where a key is hidden */
    HEADWISE_SCORES_WEIGHTS = 3 /* after the softmax: the attention weights, before head gates */
};

/* Statistics of the attention weights w[j] of every row, the caller's contiguous arrays [B][H][S],
 * NULL where not wanted. They are taken in the pass that computes y, from the weights before head
 * gates; they need O(S) memory and change no bit of y. p is the query's position on the axis of the
 * keys, so that j = p is the token itself. Where a sink takes part the weights of a row sum to less
 * than 1, and the sums below run over the keys alone. A row that sees no key has 0 everywhere and
 * -1 as strongest; a row with a NaN weight has NaN, and as strongest the key with the largest score
 * that is a number. */
struct headwise_statistics {
    size_t size; /* sizeof(struct headwise_statistics) */

    float *entropy;         /* -sum of w ln w, in nats: 0 (one key) to ln(visible keys) (uniform) */
    float *largest;         /* the largest weight */
    int64_t *strongest;     /* the key that has it, the lowest number among equal scores */
    float *mean_distance;   /* sum of w |j - p|; keys more than 2^62 away count as 2^62 */
    float *self_weight;     /* w[p], 0 where p is no key */
    float *previous_weight; /* w[p - 1] */
    float *next_weight;     /* w[p + 1] */
    float *first_weight;    /* w[0] */
};

/* Every pointer is an output the caller owns, a contiguous f32 array, or NULL where not wanted.
 * B batch, H query heads, S queries, T keys (past included). Outputs must not overlap one another
 * or any input. They come from the same pass that computes y: asking for any of them changes no bit
 * of y. After a failing call their contents are unchanged. A row that sees no key has weights 0,
 * masked scores -inf, and log-sum-exp -inf, or the head's sink where there is one. */
struct headwise_probe {
    size_t size; /* sizeof(struct headwise_probe) */

    float *weights;      /* [B][H][S][T]: softmax of the scores, before head gates; rows sum to 1,
                          * with a sink to less */
    float *mean_weights; /* [B][S][T]: weights averaged over the H heads, added in head order */

    float *scores; /* [B][H][S][T], taken at score_stage. Stages 0 and 1 compute every score, also
                    * those that causal masks and windows would skip. */
    enum headwise_score_stage score_stage;

    float *lse; /* [B][H][S]: natural log of the sum of exp(score) over the visible keys (and the
                 * sink, where there is one) */

    float *head_outputs;  /* [B][H][S][Dv]: each head's output after its gate, before W_O */
    float *contributions; /* [B][H][S][d_out]: each head's output times its rows of W_O; over the
                           * heads they sum to y minus b_o, up to rounding. Layers only: the
                           * operator, which has no W_O, refuses it. */

    const struct headwise_statistics
        *statistics; /* NULL, or what is wanted of each row's weights */
};

#ifdef __cplusplus
}
#endif
#endif
