/* What single heads of a layer do: their queries and keys, how much each contributes, which of them
 * resemble one another, which can go, and the layer without them. */
#ifndef HEADWISE_HEADS_H
#define HEADWISE_HEADS_H

#include "mha.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The layer's queries, keys and values of each head as its attention sees them, after everything
 * that comes before the scores. Outputs, of call:
 *   q (B, H, S, D), k (B, Hkv, L, D), v (B, Hkv, L, Dv), F32, F16 or BF16 each on its own, NULL
 *   where not wanted; from x (B, 1, S, d_model), memory (B, 1, L, d_memory), or NULL: k and v come
 *   from x, L = S, and d_memory = d_model where either is wanted.
 * Of the rest, what is said of scores and outputs has no effect here, and past keys are not among
 * the outputs; cache and starts must be absent. headwise_attention() on the same call with a y, and
 * without x, memory and positions, gives the bits of the layer's head outputs where all three are
 * F32 and groups are even.
 * Outputs may not overlap each other or an input.
 * HEADWISE_ERR_INVALID as in headwise_mha_forward(). HEADWISE_ERR_NO_MEMORY: scratch could not
 * grow. Failure leaves every output untouched. */
HEADWISE_API enum headwise_status headwise_mha_project(headwise_context *context,
                                                       const headwise_mha *mha,
                                                       const struct headwise_attention_call *call);

/* How alike the attention maps of the heads are: correlation[g * H + h] is Pearson's correlation of
 * the weights of heads g and h,
 *   cov(w_g, w_h) / sqrt(cov(w_g, w_g) cov(w_h, w_h)),
 * over every entry (batch entry, query i, key j) with j other than the query's own position that at
 * least one head sees; the weight of what a head does not see is 0. The token itself is left out
 * since most heads give it a large weight, whatever else they do. From -1 to 1, symmetric, 1 on the
 * diagonal; 0 beside a head whose weights are all the same up to f32 rounding (variance below 1e-12
 * of the mean square), or where no entry is left; NaN where a weight is NaN.
 *   q (B, H, S, D), k (B, Hkv, L, D) and the rest of call as in headwise_attention(), without cache
 *   and starts; y, v, x, memory, past_value, present_*, head_gates, positions and the probe have no
 *   effect. Of a layer q and k come from headwise_mha_project() with the same call; where groups
 *   are uneven give each query head a copy of its keys, Hkv = H.
 * The maps are computed in blocks of queries and never kept: about 8 MB, or O(B H T) where a single
 * query is more, taken from the context's allocator and given back. Sums are float64, in an order
 * that does not depend on the number of threads: the same bits for any, and on every tier but
 * scalar.
 * HEADWISE_ERR_INVALID as in headwise_attention(), or correlation is NULL. HEADWISE_ERR_NO_MEMORY.
 * Failure leaves correlation untouched. */
HEADWISE_API enum headwise_status
headwise_map_correlation(headwise_context *context, double *correlation,
                         const struct headwise_attention_call *call);

/* Inner products of what the heads of a layer add to its output. With c_h(row) = (output of head h)
 * times its rows of W_O,
 *   gram[g * H + h] = sum over all batch * queries rows of c_g(row) . c_h(row)
 * head_outputs is a contiguous f32 array [batch][H][queries][Dv]: the probe's head_outputs of one
 * headwise_mha_forward() call. Add the matrices of several calls to look at more input.
 * Everything below follows from this matrix: y - b_o is the sum of the c_h, so the sum of all of it
 * is the squared norm of y - b_o, over all rows.
 * Contributions are formed in blocks of rows (about 4 MB, or one row of all heads where that is
 * more, from the context's allocator, given back). float64 sums, bits as above.
 * HEADWISE_ERR_INVALID: a pointer is NULL, a size is negative or the array's size overflows, tiers
 * differ. HEADWISE_ERR_NO_MEMORY. Failure leaves gram untouched. */
HEADWISE_API enum headwise_status headwise_contribution_gram(headwise_context *context,
                                                             const headwise_mha *mha, double *gram,
                                                             const float *head_outputs,
                                                             int64_t batch, int64_t queries);

/* What a gram [H][H] says. Nothing is checked: pointers must be valid, n_heads 0 or more.
 *
 * norms[h] = sqrt(gram[h][h]): the size of the head's contribution, over all rows. */
HEADWISE_API void headwise_gram_norms(double *norms, const double *gram, int64_t n_heads);

/* shares[h] = (sum of row h of gram) / (sum of all of it): the part of the output's squared norm
 * that the head accounts for. The shares sum to 1; one is negative where the head works against the
 * others. All 0 where the output is 0. */
HEADWISE_API void headwise_gram_shares(double *shares, const double *gram, int64_t n_heads);

/* cosines[g * H + h] = gram[g][h] / sqrt(gram[g][g] gram[h][h]), in [-1, 1] up to rounding; 0 where
 * a contribution is 0. cosines may be gram. */
HEADWISE_API void headwise_gram_cosines(double *cosines, const double *gram, int64_t n_heads);

/* The norm of the change of y, over all rows, when these n heads (their places 0 ... H-1 in gram,
 * each once) are gated off: the norm of the sum of their contributions, which is exact, as no head
 * sees another one's gate. Divide by headwise_gram_change() of all heads for the part of y - b_o.
 */
HEADWISE_API double headwise_gram_change(const double *gram, int64_t n_heads, const int64_t *heads,
                                         int64_t n);

/* When two heads count as twins, in headwise_propose_pruning(): each limit that is set (not 0) must
 * be reached by the pair's number; both 0: there are no twins. In (0, 1]. */
struct headwise_twin_limits {
    size_t size;        /* sizeof(struct headwise_twin_limits) */
    double cosine;      /* of contributions, headwise_gram_cosines() */
    double correlation; /* of maps, headwise_map_correlation() */
};

/* An order in which heads can go, and who could take over from whom. Places count from 0 to
 * n_heads - 1 as in gram; head_numbers of headwise_mha_describe() tells the number of the head at a
 * place. order[i]   the head that goes i-th: the one whose loss, added to those before it, changes
 * the output least (the lowest place among equal ones) change[i]  headwise_gram_change() of order[0
 * ... i], divided by that of all heads (0 where that is 0): the output's relative change when these
 * i + 1 heads are gone. It may fall where heads work against each other. twin[h]    the head that
 * stays longer than h and is most like it, among those within the limits; -1 for none. By the
 * correlation where its limit is set, else by the cosine. (Whether it can take over shows the
 * output of the pruned layer: see merge_into.)
 *
 * correlation may be NULL where its limit is 0; limits may be NULL: no twins; change and twin may
 * be NULL where not wanted. O(n_heads^3) operations, no memory. HEADWISE_ERR_INVALID: a pointer is
 * NULL that may not be, n_heads is negative, a limit is outside [0, 1], gram has a number that is
 * not finite. Nothing has been written. */
HEADWISE_API enum headwise_status
headwise_propose_pruning(int64_t *order, double *change, int64_t *twin, const double *gram,
                         const double *correlation, int64_t n_heads,
                         const struct headwise_twin_limits *limits);

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
 * rounded to it again, I8 with new scales, as it is where inputs have scales in groups
 * (dynamic_group), since those are others then.
 * Without merges the new layer's y has the bits of mha's with gates of 0 for these heads, on every
 * tier, as long as W_O is finite (0 times an infinity is NaN) and no partial sum underflows to -0.
 * Settings and arguments of its calls (gates, sinks, slopes, relative_bias, masks by head), probes
 * and caches have the pruned layer's number of heads: headwise_mha_gather_heads() picks their
 * elements.
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

/* Copies the weights of a part, as f32, to a contiguous array of the layout, its bias (zeros where
 * the layer has none) to out numbers, and, of I8 weights, its scales to out numbers; each may be
 * NULL. What is kept as f32 has its bits, f16 and bf16 convert back to theirs, and I8 gives integer
 * * scale. headwise_mha_create() on these arrays, with packed_dtype, group_sizes, head_numbers and
 * (I8) scales, or dynamic_group, gives a layer with the same bits. HEADWISE_ERR_INVALID: mha is
 * NULL, part or layout is none, scales are asked for but the layer's weights are not I8 or have
 * scales in groups. Nothing has been written. */
HEADWISE_API enum headwise_status headwise_mha_weights(const headwise_mha *mha, float *weights,
                                                       float *bias, float *scales,
                                                       enum headwise_mha_part part,
                                                       enum headwise_layout layout);

#ifdef __cplusplus
}
#endif
#endif
