/* Normalizes and rotates a head's components in float64, and carries bounds through. */
#include "oracle_heads.h"

#include <math.h>

#include "bounds.h"

/* LayerNorm's first half: x - mean, in place. The mean's sum has at most n/16 + 4 roundings a term,
 * then one for the quotient. */
static void subtract_mean(double *value, double *bound, int64_t n) {
    double mean = 0, error = 0, magnitude = 0;
    for (int64_t j = 0; j < n; j++) {
        mean += value[j] / (double)n;
        error += bound[j] / (double)n;
        magnitude += (fabs(value[j]) + bound[j]) / (double)n;
    }
    error += bound_gamma((double)n / 16 + 6) * magnitude + BOUND_TINY;
    for (int64_t j = 0; j < n; j++) {
        value[j] -= mean;
        bound[j] += error;
        bound[j] += BOUND_U * (fabs(value[j]) + bound[j]);
    }
}

/* 1 / sqrt(mean square + eps): the interval of the mean square, n/16 + 5 roundings a term, quotient
 * and eps one each, goes through the root, which with the last quotient adds two more. */
static double inverse_root(const double *value, const double *bound, int64_t n, double eps,
                           double *error) {
    double squares = 0, carried = 0, magnitude = 0;
    for (int64_t j = 0; j < n; j++) {
        double reach = fabs(value[j]) + bound[j];
        squares += value[j] * value[j];
        magnitude += reach * reach;
        carried += bound[j] * (2 * fabs(value[j]) + bound[j]);
    }
    double mean = squares / (double)n + eps;
    double off = (carried + bound_gamma((double)n / 16 + 7) * magnitude) / (double)n +
                 BOUND_U * (mean + carried) + BOUND_TINY;
    double low = mean - off > 0 ? 1 / sqrt(mean - off) : (double)INFINITY;
    double inverse = 1 / sqrt(mean), high = 1 / sqrt(mean + off);
    *error = fmax(low - inverse, inverse - high) + 3 * BOUND_U * low;
    return inverse;
}

void oracle_norm_head(const struct headwise_mha_config *c, const float *weight, const float *bias,
                      double *value, double *bound, int64_t n) {
    double inverse, error, eps = c->norm_eps != 0 ? (double)c->norm_eps : (double)1e-6f;
    if (weight == NULL)
        return;
    if (c->norm == HEADWISE_NORM_LAYER)
        subtract_mean(value, bound, n);
    inverse = inverse_root(value, bound, n, eps, &error);
    for (int64_t j = 0; j < n; j++) {
        double w = (double)(c->norm_adds_one ? 1 + weight[j] : weight[j]);
        double add = bias != NULL ? (double)bias[j] : 0;
        double reach = (fabs(value[j]) + bound[j]) * (inverse + error);
        double off = fabs(value[j]) * error + bound[j] * (inverse + error) + BOUND_U * reach;
        value[j] = value[j] * inverse * w + add;
        bound[j] = fabs(w) * off + BOUND_U * (2 * fabs(w) * reach + fabs(add)) * 1.01 + BOUND_TINY;
    }
}

/* y_a = a cos - b sin, y_b = b cos + a sin: two roundings of what is at most their sum. */
static void rotate_pair(double *value, double *bound, int64_t a, int64_t b, double cosine,
                        double sine) {
    double x = value[a], y = value[b], x_off = bound[a], y_off = bound[b];
    double c = fabs(cosine), s = fabs(sine);
    value[a] = x * cosine - y * sine;
    value[b] = y * cosine + x * sine;
    bound[a] = x_off * c + y_off * s +
               bound_gamma(2) * ((fabs(x) + x_off) * c + (fabs(y) + y_off) * s) + BOUND_TINY;
    bound[b] = y_off * c + x_off * s +
               bound_gamma(2) * ((fabs(y) + y_off) * c + (fabs(x) + x_off) * s) + BOUND_TINY;
}

void oracle_rotate_head(const struct headwise_mha_config *c, int64_t position, double *value,
                        double *bound) {
    if (c->rotary == NULL)
        return;
    int64_t n = headwise_rotary_describe(c->rotary)->rotary_dim / 2;
    const float *cosines = headwise_rotary_describe(c->rotary)->cos + position * n;
    const float *sines = headwise_rotary_describe(c->rotary)->sin + position * n;
    bool half = headwise_rotary_describe(c->rotary)->pairs == HEADWISE_PAIRS_HALF;
    for (int64_t j = 0; j < n; j++)
        rotate_pair(value, bound, half ? j : 2 * j, half ? n + j : 2 * j + 1, (double)cosines[j],
                    (double)sines[j]);
}
