#include "vec.h"

/* exp2 is a call, and a call leaves no whole vector register as it was: so maxima, exponentials and
 * sums are loops of their own, each over as many rows as give 8 chains of maxima or sums. */
enum { ROWS_AT_ONCE = 8 / SUM_VECS };

#define ROWS static inline __attribute__((always_inline)) void

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

/* The empty statements hide from gcc what it would compute anew or fetch from memory for each call:
 * so the address of exp2 stays in x19 or the like, and base and log2(e) in half of v8, which calls
 * preserve. 53 instructions a vector, 47 of them SLEEF's, instead of 61. */
static void exponentiate_row(float *s, ptrdiff_t n, float base) {
    __typeof__(&Sleef_finz_exp2f4_u10advsimd) exp2 = Sleef_finz_exp2f4_u10advsimd;
    float32x2_t base_log2e = {base, LOG2E};
    __asm__("" : "+r"(exp2));
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        UNROLLED
        for (int v = 0; v < SUM_VECS; v++) {
            __asm__("" : "+w"(base_log2e));
            vec above = subtract(load(s + j + v * LANES), vdupq_lane_f32(base_log2e, 0));
            store(s + j + v * LANES, exp2(vmulq_lane_f32(above, base_log2e, 1)));
        }
    }
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
        exponentiate_row(s + i * s_stride, padded, base_of(max[i]));
    find_sum(sum, s, s_stride, padded, rows);
}

void headwise_softmax_neon(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                           float *restrict max, float *restrict sum) {
    ptrdiff_t i = 0;
    for (; m - i >= ROWS_AT_ONCE; i += ROWS_AT_ONCE)
        softmax_rows(s + i * s_stride, s_stride, n, max + i, sum + i, ROWS_AT_ONCE);
    for (; i < m; i++)
        softmax_rows(s + i * s_stride, s_stride, n, max + i, sum + i, 1);
}
