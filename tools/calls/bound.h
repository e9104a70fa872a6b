/* How far a result in f32 may be from the exact one: derived, not guessed. */
#ifndef HEADWISE_TOOLS_BOUND_H
#define HEADWISE_TOOLS_BOUND_H

#include "calls/attention_call.h"
#include "common/arena.h"

/* Fills y (in the layout of Y) and scores ([batch][heads][queries][keys], of the call's stage;
 * NULL: not wanted) with the largest error of each element in f32 arithmetic, the rounding to the
 * output's type not included. Infinite or NaN where nothing can be said (f32 overflows, or a NaN is
 * visible).
 *
 * Derivation, for one row with u = 2^-24 and exact quantities computed in f64:
 *   score   s_j = scale * sum_t q_t k_jt:  e_j = gamma(D + 2) |scale| sum_t |q_t k_jt|
 *   softcap c tanh(s / c):  the argument's error (e_j / c + 3u |s_j / c|) times the slope, + 4u
 * |c_j| mask    + u |s_j + m_j|;  rounding of the logits to f16 or bf16: twice half a unit of that
 * type exp     p_j = exp(s_j - max): relative error at most exp(t_j) - 1 with t_j = e_j + 3u (max -
 * s_j) + (4 n_blocks + 8) u (subtraction, log2(e) as a constant, its product; exp2 at 1 ULP = 2u;
 * and as much for each merge of key blocks, whose distances to the maximum add up to max - s_j)
 *   weights w_j' = w_j (1 + d_j) / sum w_k (1 + d_k) with |d_j| <= exp(t_j) - 1, hence
 *           w_j (1 - d_j) / sum w (1 + d) <= w_j' <= w_j (1 + d_j) / sum w exp(-t)
 *   y       |y' - y| <= sum_j w_j d_j |v_j - y| / sum w exp(-t), and never more than max |v_j - y|,
 *           since y' stays between the values; then gamma(2 min(T, 256) + 4 n_blocks + 8) times the
 *           weighted mean of |v| for the sums, the merges and the division.
 * Any order of summation and fused or separate multiply-adds stay within it. */
int bound_attention(double *y, double *scores, struct arena *arena,
                    const struct attention_call *call);

#endif
