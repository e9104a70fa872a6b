/* Softmax numerators of rows, with their maxima and sums. The tier's exponentiate.h defines
 *   exponentiate_row(s, n, base, later)   s[j] = exp2((s[j] - base) * log2(e)), j < n, n a multiple
 *                                         of 16; the row at later may be asked for
 *
 * exp2 is a call, and a call leaves no whole vector register as it was: so maxima, exponentials and
 * sums are loops of their own, each over as many rows as give 8 chains of maxima or sums. On an
 * AVX-512 server core that costs 0.35 ns per element where exp2 alone costs 0.28; one loop doing
 * all of it row by row costs 0.44. */
#include "exponentiate.h"

enum { ROWS_AT_ONCE = 8 / SUM_VECS };

#define ROWS ALWAYS_INLINE void

/* Hides the elements from n to the next multiple of 16. */
static inline void hide_padding(float *s, ptrdiff_t n) {
    ptrdiff_t used = n % HEADWISE_SUM_LANES;
    float *group = s + n - used;
    for (int v = 0; used != 0 && v < SUM_VECS; v++) {
        vec score = load(group + v * LANES);
        store(group + v * LANES, select_first(used - v * LANES, score, broadcast(-INFINITY)));
    }
}

ROWS find_max(float *max, const float *s, ptrdiff_t s_stride, ptrdiff_t n, int rows) {
    vec lane[ROWS_AT_ONCE * SUM_VECS];
    UNROLLED
    for (int i = 0; i < rows * SUM_VECS; i++)
        lane[i] = broadcast(-INFINITY);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        UNROLLED
        for (int i = 0; i < rows * SUM_VECS; i++) {
            const float *row = s + i / SUM_VECS * s_stride;
            lane[i] = select_max(load(row + j + i % SUM_VECS * LANES), lane[i]);
        }
    }
    UNROLLED
    for (int i = 0; i < rows; i++)
        max[i] = fold_max(lane + i * SUM_VECS);
}

ROWS find_sum(float *sum, const float *s, ptrdiff_t s_stride, ptrdiff_t n, int rows) {
    vec lane[ROWS_AT_ONCE * SUM_VECS];
    UNROLLED
    for (int i = 0; i < rows * SUM_VECS; i++)
        lane[i] = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        UNROLLED
        for (int i = 0; i < rows * SUM_VECS; i++) {
            const float *row = s + i / SUM_VECS * s_stride;
            lane[i] = add(lane[i], load(row + j + i % SUM_VECS * LANES));
        }
    }
    UNROLLED
    for (int i = 0; i < rows; i++)
        sum[i] = fold_sum(lane + i * SUM_VECS);
}

ROWS softmax_rows(float *s, ptrdiff_t s_stride, ptrdiff_t n, float *max, float *sum, int rows) {
    ptrdiff_t padded = (n + HEADWISE_SUM_LANES - 1) / HEADWISE_SUM_LANES * HEADWISE_SUM_LANES;
    for (int i = 0; i < rows; i++)
        hide_padding(s + i * s_stride, n);
    find_max(max, s, s_stride, padded, rows);
    for (int i = 0; i < rows; i++)
        exponentiate_row(s + i * s_stride, padded, base_of(max[i]), s + (i + rows) * s_stride);
    find_sum(sum, s, s_stride, padded, rows);
}

void TIER(headwise_softmax)(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                            float *restrict max, float *restrict sum) {
    ptrdiff_t i = 0;
    for (; m - i >= ROWS_AT_ONCE; i += ROWS_AT_ONCE)
        softmax_rows(s + i * s_stride, s_stride, n, max + i, sum + i, ROWS_AT_ONCE);
    for (; i < m; i++)
        softmax_rows(s + i * s_stride, s_stride, n, max + i, sum + i, 1);
}
