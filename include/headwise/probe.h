/* What a caller may see of the heads while attention is computed. */
#ifndef HEADWISE_PROBE_H
#define HEADWISE_PROBE_H

#include "statistics.h"

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
