/* Computes one score in float64, stage by stage, with a bound on the error of an f32 engine. */
#include "oracle_scores.h"

#include <math.h>

#include "bounds.h"
#include "half.h"

bool oracle_in_sight(const struct oracle_problem *p, int64_t b, int64_t i, int64_t j) {
    const struct headwise_attention_options *o = p->options;
    int64_t length = p->call->key_lengths != NULL ? p->call->key_lengths[b] : p->keys;
    int64_t offset = p->past;
    if (o->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        offset = length - p->queries;
    if (p->call->query_offsets != NULL)
        offset = p->call->query_offsets[b];
    if (j >= length)
        return false;
    /* The key is ahead of the query by j - i - offset, whose size fits 64 bits without a sign. */
    bool ahead = j - i > offset;
    uint64_t apart = (uint64_t)(j - i) - (uint64_t)offset;
    if (ahead)
        return o->causal == HEADWISE_CAUSAL_NONE &&
               !(o->window_is_set && o->window_right >= 0 && apart > (uint64_t)o->window_right);
    return !(o->window_is_set && o->window_left >= 0 && -apart > (uint64_t)o->window_left &&
             j >= o->window_first);
}

static double query_position(const struct oracle_problem *p, int64_t b, int64_t i) {
    const struct headwise_attention_options *o = p->options;
    int64_t length = p->call->key_lengths != NULL ? p->call->key_lengths[b] : p->keys;
    double offset = (double)p->past;
    if (o->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        offset = (double)(length - p->queries);
    if (p->call->query_offsets != NULL)
        offset = (double)p->call->query_offsets[b];
    return (double)i + offset;
}

/* Stage 0: scale * q.k. The chain has D roundings, the default scale 2 (root and quotient), the
 * product with it 1. Errors that q and k bring are multiplied through. */
void oracle_scaled_score(const struct oracle_problem *p, const int64_t q_row, const int64_t k_row,
                         double *score, double *bound) {
    const struct headwise_attention_options *o = p->options;
    double scale = o->scale_is_set ? (double)o->scale : 1 / sqrt((double)p->dim);
    double sum = 0, magnitude = 0, carried = 0;
    for (int64_t d = 0; d < p->dim; d++) {
        double q = p->q[q_row * p->dim + d], k = p->k[k_row * p->dim + d];
        double q_error = p->q_error != NULL ? p->q_error[q_row * p->dim + d] : 0;
        double k_error = p->k_error != NULL ? p->k_error[k_row * p->dim + d] : 0;
        sum += q * k;
        magnitude += fabs(q * k);
        carried += fabs(q) * k_error + q_error * fabs(k) + q_error * k_error;
    }
    *score = scale * sum;
    *bound = fabs(scale) * (carried + bound_gamma((double)p->dim + 3) * (magnitude + carried) +
                            (double)p->dim * BOUND_TINY) +
             BOUND_TINY;
}

/* Stage 1: cap * tanh(s / cap). The derivative is at most 1, so the error of s does not grow.
 * 1/cap, its product with s, and the product with cap are rounded once each, tanh is 1 ulp off; as
 * |x tanh'(x)| <= |tanh(x)| each of them is relative to the result. */
void oracle_capped_score(double cap, double *score, double *bound) {
    if (cap == 0)
        return;
    *score = cap * tanh(*score / cap);
    *bound += (bound_gamma(3) + BOUND_U10 * (1 + 4 * BOUND_U)) * fabs(*score) + BOUND_TINY;
}

static double round_to(enum headwise_dtype dtype, double x) {
    return dtype == HEADWISE_F32 ? x : half_to_double(dtype, half_from_double(dtype, x));
}

/* What positions add to a score before the mask: ALiBi with its product rounded, the distance too
 * where it is beyond 2^24, and the sum; the relative bias with one rounding of the sum. */
static void biased_score(const struct oracle_problem *p, int64_t b, int64_t h, int64_t i, int64_t j,
                         double *score, double *bound) {
    const struct headwise_attention_options *o = p->options;
    double distance = (double)j - query_position(p, b, i), reach = (double)o->relative_reach;
    if (o->alibi_slopes != NULL) {
        double bias = (double)o->alibi_slopes[h] * fabs(distance);
        *score -= bias;
        *bound += 2.01 * BOUND_U * fabs(bias) + BOUND_U * (fabs(*score) + *bound) + BOUND_TINY;
    }
    if (o->relative_bias != NULL) {
        double at = fmax(fmin(distance, reach), -reach) + reach;
        *score += (double)o->relative_bias[h * (2 * o->relative_reach + 1) + (int64_t)at];
        *bound += BOUND_U * (fabs(*score) + *bound);
    }
}

/* Stage 2: biases, additive mask (one rounding), then what is out of sight. */
void oracle_masked_score(const struct oracle_problem *p, int64_t b, int64_t h, int64_t i, int64_t j,
                         double *score, double *bound) {
    double added = 0;
    if (p->mask != NULL)
        added = p->mask[((b * p->heads + h) * p->queries + i) * p->keys + j];
    biased_score(p, b, h, i, j, score, bound);
    if (!oracle_in_sight(p, b, i, j) || added == -(double)INFINITY || *score == -(double)INFINITY) {
        *score = -(double)INFINITY;
        *bound = 0;
        return;
    }
    if (p->mask != NULL) {
        *score += added;
        *bound += BOUND_U * (fabs(*score) + *bound);
    }
}

/* A score as the softmax gets it. Rounding is monotone, so the engine's value lies between the
 * roundings of the two ends of the interval. */
void oracle_rounded_score(enum headwise_dtype softmax_precision, double *score, double *bound) {
    if (softmax_precision == HEADWISE_F32 || !isfinite(*score))
        return;
    double low = round_to(softmax_precision, *score - *bound);
    double high = round_to(softmax_precision, *score + *bound);
    *score = round_to(softmax_precision, *score);
    *bound = fmax(high - *score, *score - low);
}
