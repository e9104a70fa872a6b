/* The contract between portable code and the tiers: each kernel as mathematics.
 *
 * Every tier offers the same table. Rules that hold for all kernels:
 *  - Arithmetic only: no threads, no allocation, no errors. Pointers are valid and do not overlap
 *    unless said. Sizes may be 0 where not said otherwise. No alignment is assumed of any pointer.
 *  - One answer: fma() is one fused operation in every tier but scalar (which multiplies, then
 * adds), every chain runs in the order written here, exp2, log and tanh are SLEEF's finz functions
 * at u10, and an element's value never depends on its lane or on m: tails go through the same
 * vector code on a padded register. So avx2, avx512 and neon give the same bits.
 *  - max(a, b) is the select a > b ? a : b. Infinities and NaN follow IEEE 754.
 *  - Memory is read and written only where the formula names it. */
#ifndef HEADWISE_KERNELS_H
#define HEADWISE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "headwise/common.h"
#include "headwise/isa.h"
#include "kernels/activate.h"
#include "kernels/dot.h"

/* Lanes of the row sums in softmax; score rows are padded to a multiple of this. */
#define HEADWISE_SUM_LANES 16

/* Components of a row of an 8-bit cache that share one scale: a multiple of every tier's nr, so
 * that the columns of a value panel share one. */
#define HEADWISE_SCALE_GROUP 32

/* Panels. A matrix B with k rows and any number of columns is stored as panels of nr columns, the
 * last one narrower where that is enough: a multiple of nr_min, at most nr. Within a panel of width
 * w row r, column j is at b[r * w + j]; columns beyond the matrix are 0. Panels follow one another
 * without gaps, so the panel that begins at column c begins at element k * c. */

/* What the products read of B, stored like that or as rows in their own place: B(t, j) is
 *   data[j / nr * panel_stride + t * row_stride + j % nr]
 * In a panel of width w row_stride is w, and panel_stride is what lies between two panels of width
 * nr. Rows in place, f32 and for values alone, have their own row_stride >= n, and panel_stride nr.
 * data points to elements of the type that the kernel is for. */
struct headwise_columns {
    const void *data;
    ptrdiff_t row_stride, panel_stride; /* elements; the latter is not used where n <= nr */
    const float *scales;                /* integers only; see below */
    ptrdiff_t scales_stride;
};

/* Row panels. Rows of A that meet many panels may be stored step by step, as panels of a_rows rows,
 * the last one with what is left: row r of a panel of h rows that begins at row i has its element t
 * at a[i * a_stride + t * h + r], a_stride >= k. a_rows is the table's row_panel, or 1 for plain
 * rows, a_stride apart. What follows writes A(i, t) for either. */

/* The products of m rows of A, any m, and n columns of B: one panel of n <= nr, or whole panels of
 * nr. Chains are few where rows are few, so that one or two rows walk through several panels at
 * once: then a call is the faster the more columns it gets.
 *
 * Scores:
 *   acc = 0; for t = 0 ... k-1: acc = fma(A(i, t), B(t, j), acc)
 *   c[i*c_stride + j] = scale * acc                                   i < m, j < n */
typedef void headwise_scores_fn(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                                ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale);

/* Weighted values, merged into what earlier key blocks gave:
 *   acc as in scores with plain rows; c[i][j] = fma(c[i][j], alpha[i], beta[i] * acc) */
typedef void headwise_values_fn(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                ptrdiff_t a_stride, const struct headwise_columns *b, ptrdiff_t m,
                                ptrdiff_t n, ptrdiff_t k, const float *restrict alpha,
                                const float *restrict beta);

/* A projection; a chain over k may be continued over several calls:
 *   acc = resume ? c[i][j] : 0; chain over t as in scores
 *   c[i][j] = bias == NULL ? acc : acc + bias[j]
 * What follows a panel in memory is asked for, as it is mostly read next. */
typedef void headwise_project_fn(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                 ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,
                                 ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool resume,
                                 const float *restrict bias);

/* Each product exists for panels stored narrow too, for plain rows of A (a_rows 1): it gives, bit
 * for bit, what it gives on panels of f32 whose B(t, j) is
 *   f16, bf16   the element, widened
 *   i8 scores   element * scales[j / nr * scales_stride + t / HEADWISE_SCALE_GROUP * w + j % nr],
 *               w the panel's width
 *   i8 values   element * scales[j / HEADWISE_SCALE_GROUP * scales_stride + t]
 *   i8 project  the element; where scales is not NULL, acc * scales[j] takes the place of acc once
 *               its chain has ended: scales belong to the chain's last call
 * Any m is right; from about 24 rows on it is faster to widen first. */

/* scores_in_place: scores, bit for bit, of n keys that are f32 rows in their own place, any n:
 *   B(t, j) = data[j * row_stride + t]
 * for plain rows of A. It turns the keys anew for every few rows, so that more than 4 are better
 * off with panels. c is written up to n rounded up to nr_min; what is there from n on has no
 * meaning. It is worth its file: by panels alone one query over plain tensors took 1.05 to 1.33
 * times as long (bench_attention, decode, avx512; two of ten cases 0.93). */

/* Fills row panels of the table's row_panel from m rows of k elements. a_stride >= k; what lies
 * between k and a_stride stays. */
typedef void headwise_pack_rows_fn(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                                   ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k);

/* Fills a panel of n columns from rows that become its columns:
 *   panel[t*n + j] = j < n_rows ? src[j*src_stride + t] : 0           t < k, j < n, n_rows <= n */
typedef void headwise_pack_transposed_fn(float *restrict panel, int n, const float *restrict src,
                                         ptrdiff_t src_stride, int n_rows, ptrdiff_t k);

/* Fills a panel of n columns from columns:
 *   panel[t*n + j] = j < n_columns ? src[t*src_stride + j] : 0        t < k, j < n, n_columns <= n
 * Returns whether everything copied is finite. */
typedef bool headwise_pack_columns_fn(float *restrict panel, int n, const float *restrict src,
                                      ptrdiff_t src_stride, int n_columns, ptrdiff_t k);

/* Softmax numerators of m rows of n scores, in place, -inf being a hidden key. For each row:
 *   max = max over j of s[j], from -inf;  base = max == -inf ? 0 : max
 *   p[j] = exp2((s[j] - base) * log2(e))
 *   lane[l] = sum of p[l], p[l+16], ... in this order from 0;  16 lanes, absent elements add 0
 *   sum = fold of the lanes: l += l+8, then l+4, l+2, l+1
 * s_stride >= n rounded up to 16; elements from n up to there are written as 0 (their old value is
 * not used). A NaN score never becomes the max; it makes its p and the sum NaN. */
typedef void headwise_softmax_fn(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                                 float *restrict max, float *restrict sum);

/* Joins a key block's (max, sum) to those of the blocks before it, for n rows:
 *   new = max(block_max, max);  base = new == -inf ? 0 : new
 *   alpha = exp2((max - base) * log2(e));  beta = exp2((block_max - base) * log2(e))
 *   sum = fma(sum, alpha, block_sum * beta);  max = new */
typedef void headwise_merge_fn(float *restrict alpha, float *restrict beta, float *restrict max,
                               float *restrict sum, const float *restrict block_max,
                               const float *restrict block_sum, ptrdiff_t n);

/* Ends n rows: inverse = sum == 0 ? 0 : 1 / sum;  lse = sum == 0 ? -inf : max + log(sum), natural.
 * A NaN sum gives NaN in both. */
typedef void headwise_finish_fn(float *restrict inverse, float *restrict lse,
                                const float *restrict max, const float *restrict sum, ptrdiff_t n);

/* factor[i] = exp2((block_max[i] - base) * log2(e)) * inverse, base = max == -inf ? 0 : max: what
 * the numerators of key block i are multiplied with to become weights. */
typedef void headwise_factors_fn(float *restrict factor, const float *restrict block_max, float max,
                                 float inverse, ptrdiff_t n);

/* y[j] = fma(o[j] * inverse, gate, +0), NaN made the positive quiet NaN 0x7fc00000. y may be o. */
typedef void headwise_normalize_fn(float *y, const float *o, float inverse, float gate,
                                   ptrdiff_t n);

/* Statistics of a row of n numerators p, their scores s, and the row's max in this block:
 *   entropy = sum of p[j] * max(s[j] - base, -FLT_MAX),  base = max == -inf ? 0 : max
 *   distance = sum of p[j] * |j + first|
 *   strongest = the lowest j with s[j] == max, as a float; +inf where there is none
 * The sums are fma chains in 16 lanes, folded as in softmax; j + first grows by 16 from the lane's
 * first. p and s are readable up to n rounded up to 16, where p holds 0 and s a number that is not
 * max unless a lower j has it. n is at most HEADWISE_KEY_BLOCK. */
typedef void headwise_row_stats_fn(float *restrict entropy, float *restrict distance,
                                   float *restrict strongest, const float *restrict p,
                                   const float *restrict s, ptrdiff_t n, float max, float first);

/* s[j] = cap * tanh(s[j] * inverse_cap) */
typedef void headwise_softcap_fn(float *s, float cap, float inverse_cap, ptrdiff_t n);

/* s[j] = x[j] == -inf ? -inf : s[j] + x[j] */
typedef void headwise_add_mask_fn(float *restrict s, const float *restrict x, ptrdiff_t n);

/* s[j] = fma(-slope, |distance - (first + j)|, s[j]), the difference rounded; first + n < 2^24 */
typedef void headwise_alibi_fn(float *s, float slope, float distance, ptrdiff_t first, ptrdiff_t n);

/* s[j] = visible[j] != 0 ? s[j] : -inf */
typedef void headwise_hide_fn(float *restrict s, const uint8_t *restrict visible, ptrdiff_t n);

/* s[j] = s[j] + x[j] */
typedef void headwise_add_fn(float *restrict s, const float *restrict x, ptrdiff_t n);

/* Turns the pairs of m rows, n pairs each, by the angles whose cosines and sines are given. Pair j
 * is (a, b) = (x[i][j], x[i][n + j]) in rotate_half, (x[i][2j], x[i][2j + 1]) in
 * rotate_interleaved:
 *   y_a = fma(a, cos[j], -(b * sin[j]));  y_b = fma(b, cos[j], a * sin[j])
 * y may be x, with the same stride. */
typedef void headwise_rotate_fn(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                                const float *restrict cos, const float *restrict sin, ptrdiff_t m,
                                ptrdiff_t n);

/* Normalizes m rows of n > 0 elements. sum(f) is 16 lanes, lane l beginning with 0 and taking f of
 * x[l], x[l+16], ... in this order, then folded as in softmax:
 *   norm_rms:    d[j] = x[j];  norm_layer: mean = sum(lane + x) / n;  d[j] = x[j] - mean
 *   inverse = 1 / sqrt(sum(fma(d, d, lane)) / n + eps)
 *   t = d[j] * inverse;  y[j] = bias == NULL ? t * weight[j] : fma(t, weight[j], bias[j])
 * y may be x, with the same stride. */
typedef void headwise_norm_fn(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                              const float *restrict weight, const float *restrict bias, ptrdiff_t m,
                              ptrdiff_t n, float eps);

/* Conversions of n elements between f32 and a type: of f32 a copy, of integers their values.
 * Narrowing rounds to nearest even, keeps infinities, quiets NaN; integers are made with a scale,
 * below. */
typedef void headwise_widen_fn(float *restrict dst, const void *restrict src, ptrdiff_t n);
typedef void headwise_narrow_fn(void *restrict dst, const float *restrict src, ptrdiff_t n);

/* The scale of a group whose largest magnitude is finite: held where 127 * scale is a finite number
 * and q * scale is not subnormal. */
static inline float headwise_scale_i8(float largest) {
    const float most = 0x1.020406p121f, least = 0x1p-126f;
    float scale = largest / 127.0f;
    return scale < least ? least : scale > most ? most : scale;
}

/* A row of n elements as integers and scales, one scale for each group of HEADWISE_SCALE_GROUP
 * elements, the last group shorter where need be. For each group:
 *   scale = headwise_scale_i8(largest |x[j]|);  q[j] = x[j] / scale rounded to nearest even
 * or, where an x[j] is infinite or NaN, scale = NaN and q[j] = 0. */
typedef void headwise_quantize_i8_fn(int8_t *restrict q, float *restrict scales,
                                     const float *restrict x, ptrdiff_t n);

/* A panel of n columns and k rows, columns being rows that were quantised:
 *   dst[t*n + j] = src[t*n + j] * scales[t / HEADWISE_SCALE_GROUP * n + j]      t < k, j < n */
typedef void headwise_widen_keys_i8_fn(float *restrict dst, const int8_t *restrict src,
                                       const float *restrict scales, int n, ptrdiff_t k);

/* A panel of n columns and k rows, rows being what was quantised: dst[t*n + j] = src[t*n + j] *
 * scales[t] */
typedef void headwise_widen_values_i8_fn(float *restrict dst, const int8_t *restrict src,
                                         const float *restrict scales, int n, ptrdiff_t k);

/* How much callers give the kernels of a tier at once: what stays in the caches of its processors.
 * None of these changes a bit of a result. */
struct headwise_block_sizes {
    /* Rows that share one packing of a key block, at most and at least. Packing costs about 0.2 ns
     * per element and is used by every row; beyond 768 rows it is below 3 % of the products. */
    int tile_rows, min_tile_rows;
    /* Rows that meet a key block in one pass: each panel of values comes to the L1 cache once per
     * pass. 96 rows instead of 24 gain 2 % at 64 columns; wide_pass_rows, for heads of wide_head
     * columns of keys and values on, gain 10 % at 1024, where a block of keys and values fills the
     * L2 cache. Under a causal mask or a window all rows of a pass compute what the first or the
     * last of them sees, so there each pass has few_rows queries; so has one that keeps its
     * weights, which then go from the L1 cache to where they are wanted. */
    int few_rows, pass_rows, wide_pass_rows, wide_head;
    /* A projection's task has at most project_rows rows, a multiple of mr and at most
     * HEADWISE_MOST_PROJECT_ROWS, of project_slice inputs: they stay in the L2 cache (1.25 MB). A
     * pass of project_inputs inputs, a divisor of project_slice, over a panel stays in L1 (32 KB at
     * 32 columns). All passes over a panel follow one another, so that its outputs wait for the
     * next one in L2: with one pass over all panels before the next, three outputs of width 768
     * took 10 % longer. */
    int project_rows, project_inputs, project_slice;
};

enum { HEADWISE_MOST_PROJECT_ROWS = 384 };

/* Arrays are indexed by enum headwise_dtype. None has an entry for BOOL, whose tensors are masks:
 * those are read by hide. */
enum { HEADWISE_DTYPES = HEADWISE_I8 + 1 };

struct headwise_kernels {
    enum headwise_isa isa;
    int mr;        /* rows of the micro-kernel's full tile: good values of m are its multiples */
    int row_panel; /* rows of a row panel, mr or 1: plain rows are read as fast */
    int nr;        /* widest panel */
    int nr_min;    /* widths of panels are multiples of this, a divisor of nr and of 16 */
    struct headwise_block_sizes sizes;
    headwise_scores_fn *scores[HEADWISE_DTYPES];
    headwise_scores_fn *scores_in_place;
    headwise_values_fn *values[HEADWISE_DTYPES];
    headwise_project_fn *project[HEADWISE_DTYPES];
    headwise_pack_rows_fn *pack_rows;
    headwise_pack_transposed_fn *pack_transposed;
    headwise_pack_columns_fn *pack_columns;
    headwise_softmax_fn *softmax;
    headwise_merge_fn *merge;
    headwise_finish_fn *finish;
    headwise_factors_fn *factors;
    headwise_normalize_fn *normalize;
    headwise_row_stats_fn *row_stats;
    headwise_softcap_fn *softcap;
    headwise_alibi_fn *alibi;
    headwise_add_mask_fn *add_mask;
    headwise_hide_fn *hide;
    headwise_add_fn *add;
    headwise_rotate_fn *rotate_half;
    headwise_rotate_fn *rotate_interleaved;
    headwise_norm_fn *norm_rms;
    headwise_norm_fn *norm_layer;
    headwise_activate_fn *activate[HEADWISE_ACTIVATIONS];
    headwise_widen_fn *widen[HEADWISE_DTYPES];
    headwise_narrow_fn *narrow[HEADWISE_DTYPES]; /* none for I8 */
    headwise_quantize_i8_fn *quantize_i8;
    headwise_measure_rows_fn *measure_rows;
    headwise_round_rows_fn *round_rows;
    headwise_widen_keys_i8_fn *widen_keys_i8;
    headwise_widen_values_i8_fn *widen_values_i8;
};

extern const struct headwise_kernels headwise_kernels_scalar;
extern const struct headwise_kernels headwise_kernels_avx2;
extern const struct headwise_kernels headwise_kernels_avx512;
extern const struct headwise_kernels headwise_kernels_neon;

#endif
