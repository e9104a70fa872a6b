#include "vec.h"

/* exp2 is a call, and a call leaves nothing in vector registers: so maxima, exponentials and sums
 * are loops of their own, each over a few rows that stay in L1. */
enum { ROWS_AT_ONCE = 8 };

/* Hides the elements from n to the next multiple of 16. */
static void hide_padding(float *s, ptrdiff_t n) {
    ptrdiff_t used = n % HEADWISE_SUM_LANES;
    float *group = s + n - used;
    for (int v = 0; used != 0 && v < SUM_VECS; v++) {
        vec score = load(group + v * LANES);
        store(group + v * LANES, select_first(used - v * LANES, score, broadcast(-INFINITY)));
    }
}

static float max_of_row(const float *s, ptrdiff_t n) {
    vec lane[SUM_VECS];
    for (int v = 0; v < SUM_VECS; v++)
        lane[v] = broadcast(-INFINITY);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        for (int v = 0; v < SUM_VECS; v++)
            lane[v] = select_max(load(s + j + v * LANES), lane[v]);
    }
    return fold_max(lane);
}

/* The empty statements hide from gcc what it would compute anew or fetch from memory for each call:
 * so the address of exp2 stays in x19 or the like, and base and log2(e) in half of v8, which calls
 * preserve. 53 instructions a vector, 47 of them SLEEF's, instead of 61. */
static void exponentiate_row(float *s, ptrdiff_t n, float base) {
    __typeof__(&Sleef_finz_exp2f4_u10advsimd) exp2 = Sleef_finz_exp2f4_u10advsimd;
    float32x2_t base_log2e = {base, LOG2E};
    __asm__("" : "+r"(exp2));
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
#pragma GCC unroll 16
        for (int v = 0; v < SUM_VECS; v++) {
            __asm__("" : "+w"(base_log2e));
            vec above = subtract(load(s + j + v * LANES), vdupq_lane_f32(base_log2e, 0));
            store(s + j + v * LANES, exp2(vmulq_lane_f32(above, base_log2e, 1)));
        }
    }
}

static float sum_of_row(const float *s, ptrdiff_t n) {
    vec lane[SUM_VECS];
    for (int v = 0; v < SUM_VECS; v++)
        lane[v] = broadcast(0.0f);
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        for (int v = 0; v < SUM_VECS; v++)
            lane[v] = add(lane[v], load(s + j + v * LANES));
    }
    return fold_sum(lane);
}

void headwise_softmax_neon(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                           float *restrict max, float *restrict sum) {
    ptrdiff_t padded = (n + HEADWISE_SUM_LANES - 1) / HEADWISE_SUM_LANES * HEADWISE_SUM_LANES;
    for (ptrdiff_t first = 0; first < m; first += ROWS_AT_ONCE) {
        ptrdiff_t end = m - first < ROWS_AT_ONCE ? m : first + ROWS_AT_ONCE;
        for (ptrdiff_t i = first; i < end; i++) {
            hide_padding(s + i * s_stride, n);
            max[i] = max_of_row(s + i * s_stride, padded);
        }
        for (ptrdiff_t i = first; i < end; i++)
            exponentiate_row(s + i * s_stride, padded, base_of(max[i]));
        for (ptrdiff_t i = first; i < end; i++)
            sum[i] = sum_of_row(s + i * s_stride, padded);
    }
}
