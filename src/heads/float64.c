/* Sums f32 products in float64, in one order. */
#include "heads/float64.h"

enum { LANES = 8 };

static double fold(const double lane[LANES]) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

double headwise_dot_f64(const float *a, const float *b, int64_t n) {
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)a[i + l] * (double)b[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += (double)a[i + l] * (double)b[i + l];
    return fold(lane);
}

double headwise_total_f64(const float *a, int64_t n) {
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)a[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += (double)a[i + l];
    return fold(lane);
}
