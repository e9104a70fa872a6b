/* Statistics of rows of weights. */
#include <float.h>

#include "vec.h"

void TIER(headwise_row_stats)(float *restrict entropy, float *restrict distance,
                              float *restrict strongest, const float *restrict p,
                              const float *restrict s, ptrdiff_t n, float max, float first) {
    float entropies[HEADWISE_SUM_LANES] = {0}, distances[HEADWISE_SUM_LANES] = {0};
    float base = base_of(max), hit = -INFINITY;
    for (ptrdiff_t j = 0; j < n; j++) {
        int lane = (int)(j % HEADWISE_SUM_LANES);
        float below = select_max(s[j] - base, -FLT_MAX);
        entropies[lane] = multiply_add(p[j], below, entropies[lane]);
        distances[lane] = multiply_add(p[j], fabsf((float)j + first), distances[lane]);
        if (s[j] == max)
            hit = select_max((float)-j, hit);
    }
    *entropy = fold_lanes(entropies);
    *distance = fold_lanes(distances);
    *strongest = 0.0f - hit;
}
