/* Fills tables that models add by position: ALiBi, T5, sinusoids. */
#include "positions/tables.h"

#include "base/float_mode.h"
#include "positions/exact.h"

void headwise_fill_alibi_slopes(float *slopes, int64_t n_heads) {
    HEADWISE_FLOAT_SCOPE();
    int64_t n = 1;
    while (n <= n_heads / 2)
        n *= 2;
    for (int64_t h = 0; h < n_heads; h++) {
        double exponent =
            h < n ? -8 * (double)(h + 1) / (double)n : -4 * (double)(2 * (h - n) + 1) / (double)n;
        slopes[h] = (float)headwise_exact_pow(2, exponent);
    }
}

/* The bucket of a distance of 0 or more among the n of one side. Where the logarithm falls on a
 * border (distances that are a power of the growth) it may come out an ULP below it, so borders are
 * widened by 1e-9, less than any distance of 2^24 and below comes close to one. */
static int64_t bucket_of(int64_t distance, int64_t n, int64_t max_distance) {
    int64_t n_exact = n / 2;
    if (distance < n_exact)
        return distance;
    if (distance >= max_distance)
        return n - 1;
    double growth = headwise_exact_log((double)max_distance / (double)n_exact);
    double part = headwise_exact_log((double)distance / (double)n_exact) / growth;
    int64_t bucket = n_exact + (int64_t)(part * (double)(n - n_exact) + 1e-9);
    return bucket < n - 1 ? bucket : n - 1;
}

void headwise_fill_t5_bias(float *bias, const float *table, int64_t n_buckets, int64_t n_heads,
                           bool bidirectional, int64_t max_distance) {
    HEADWISE_FLOAT_SCOPE();
    int64_t n = bidirectional ? n_buckets / 2 : n_buckets;
    int64_t columns = 2 * max_distance + 1;
    for (int64_t ahead = -max_distance; ahead <= max_distance; ahead++) {
        int64_t bucket = bucket_of(ahead < 0 ? -ahead : 0, n, max_distance);
        if (bidirectional && ahead > 0)
            bucket = n + bucket_of(ahead, n, max_distance);
        for (int64_t h = 0; h < n_heads; h++)
            bias[h * columns + ahead + max_distance] = table[bucket * n_heads + h];
    }
}

void headwise_fill_sinusoids(float *table, int64_t n, int64_t d) {
    HEADWISE_FLOAT_SCOPE();
    for (int64_t i = 0; i < d; i += 2) {
        double frequency = headwise_exact_pow(10000, -(double)i / (double)d);
        for (int64_t p = 0; p < n; p++) {
            double sine, cosine;
            headwise_exact_sincos((double)p * frequency, &sine, &cosine);
            table[p * d + i] = (float)sine;
            if (i + 1 < d)
                table[p * d + i + 1] = (float)cosine;
        }
    }
}
