/* Layers without some of their heads. */
#ifndef HEADWISE_PRUNE_H
#define HEADWISE_PRUNE_H

#include "mha.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Heads keep the numbers they had in the layer that was first created: pruning {1} and then {2} of
 * four heads leaves 0 and 3. */
struct headwise_prune_options {
    size_t size;          /* sizeof(struct headwise_prune_options) */
    const int64_t *heads; /* [n_heads]: numbers of the heads to drop, in any order, each once */
    int64_t n_heads;      /* 0 ... all of them */
    /* [n_heads] or NULL. merge_into[i] >= 0: the head with that number, which stays, takes over:
     * the rows of W_O of heads[i] are added to its own, so that it speaks for both, and y changes
     * by (output of the heir - output of heads[i]) times those rows. Good where the outputs of both
     * heads are nearly the same, which maps that are alike do not tell: their W_V must agree too,
     * as in heads that share a kv head. -1: nobody takes over. */
    const int64_t *merge_into;
};

/* Builds the layer that is left without these heads and stores it in *pruned; mha stays as it is.
 * A kv head goes when its last query head goes, so that groups may become uneven: kv head g is then
 * read by group_sizes[g] of headwise_mha_describe() consecutive query heads. With all heads gone y
 * = b_o.
 *
 * Weights stay in the type that mha keeps them in, with their scales; only where heads merge W_O is
 * rounded to it again, I8 with new scales.
 * Without merges the new layer's y has the bits of mha's with gates of 0 for these heads, on every
 * tier, as long as W_O is finite (0 times an infinity is NaN) and no partial sum underflows to -0.
 * Options of its calls (gates, sinks, slopes, relative_bias, masks by head), probes and caches have
 * the pruned layer's number of heads: headwise_mha_gather_heads() picks their elements.
 *
 * HEADWISE_ERR_INVALID: a pointer is NULL, the tiers differ, a number names no head of the layer or
 * comes twice, merge_into names a head that is not there or goes too. HEADWISE_ERR_NO_MEMORY (about
 * one copy of the weights is needed meanwhile). On failure *pruned is unchanged. */
HEADWISE_API enum headwise_status headwise_mha_prune(headwise_mha **pruned,
                                                     headwise_context *context,
                                                     const headwise_mha *mha,
                                                     const struct headwise_prune_options *options);

/* dst[i][c] = src[number of head i][c] for the layer's heads i, c < columns: what is left of an
 * array with one row for each head of the layer before any pruning. columns is 1 for head_gates,
 * sinks and alibi_slopes, 2 * relative_reach + 1 for relative_bias, S * T for a contiguous float
 * mask (H, S, T). dst [n_heads][columns] may be src.
 * HEADWISE_ERR_INVALID: a pointer is NULL, columns is negative or the size overflows. */
HEADWISE_API enum headwise_status headwise_mha_gather_heads(const headwise_mha *mha, float *dst,
                                                            const float *src, int64_t columns);

/* The parts of a layer that have weights. */
enum headwise_mha_part {
    HEADWISE_MHA_Q = 0, /* out = n_heads * head_dim, in = d_model */
    HEADWISE_MHA_K = 1, /* out = n_kv_heads * head_dim, in = d_memory */
    HEADWISE_MHA_V = 2, /* out = n_kv_heads * value_dim, in = d_memory */
    HEADWISE_MHA_O = 3  /* out = d_out, in = n_heads * value_dim */
};

/* Copies the weights of a part, as f32, to a contiguous array of the layout, and its bias (zeros
 * where the layer has none) to out numbers; each may be NULL. What is kept as f32 has its bits, f16
 * and bf16 convert back to theirs, and I8 gives integer * scale. headwise_mha_create() on these
 * arrays, with packed_dtype, group_sizes, head_numbers and (I8) headwise_mha_scales(), gives a
 * layer with the same bits. HEADWISE_ERR_INVALID: mha is NULL, part or layout is none. */
HEADWISE_API enum headwise_status headwise_mha_weights(const headwise_mha *mha, float *weights,
                                                       float *bias, enum headwise_mha_part part,
                                                       enum headwise_layout layout);

/* Copies the scales of a part, one for each output. HEADWISE_ERR_INVALID: mha or scales is NULL,
 * part is none, or the layer's weights are not I8. */
HEADWISE_API enum headwise_status headwise_mha_scales(const headwise_mha *mha, float *scales,
                                                      enum headwise_mha_part part);

#ifdef __cplusplus
}
#endif
#endif
