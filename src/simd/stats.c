/* Statistics of rows of weights. */
#include <float.h>

#include "vec.h"

void TIER(headwise_row_stats)(float *restrict entropy, float *restrict distance,
                              float *restrict strongest, const float *restrict p,
                              const float *restrict s, ptrdiff_t n, float max, float first) {
    static const float index[HEADWISE_SUM_LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};
    vec none = broadcast(-INFINITY), top = broadcast(max), step = broadcast(HEADWISE_SUM_LANES);
    /* Hidden keys have p = 0 and s = -inf: the product must be 0. */
    vec base = broadcast(base_of(max)), floor = broadcast(-FLT_MAX);
    vec entropies[SUM_VECS], distances[SUM_VECS], hits[SUM_VECS], behind[SUM_VECS], away[SUM_VECS];
    for (int v = 0; v < SUM_VECS; v++) {
        entropies[v] = distances[v] = broadcast(0.0f);
        hits[v] = none;
        behind[v] = subtract(broadcast(0.0f), load(index + v * LANES)); /* -j */
        away[v] = add(load(index + v * LANES), broadcast(first));       /* j + first */
    }
    for (ptrdiff_t j = 0; j < n; j += HEADWISE_SUM_LANES) {
        for (int v = 0; v < SUM_VECS; v++) {
            vec numerator = load(p + j + v * LANES), score = load(s + j + v * LANES);
            vec below = select_max(subtract(score, base), floor);
            entropies[v] = multiply_add(numerator, below, entropies[v]);
            distances[v] = multiply_add(numerator, absolute(away[v]), distances[v]);
            hits[v] = select_max(select_equal(score, top, behind[v], none), hits[v]);
            behind[v] = subtract(behind[v], step);
            away[v] = add(away[v], step);
        }
    }
    *entropy = fold_sum(entropies);
    *distance = fold_sum(distances);
    *strongest = 0.0f - fold_max(hits);
}
