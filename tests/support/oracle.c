#include "oracle.h"

#include <math.h>

#include "bounds.h"
#include "guard.h"
#include "half.h"

/* How many roundings the sum of a row's numerators has: 16 lanes over a key block of 256, the fold
 * of the lanes, and at most 3 for each further block that is merged (alpha or beta, product, sum).
 * A row of T keys has at most T terms, so an engine that sums them one by one stays inside too
 * where T is small. */
static double sum_roundings(double n_keys) {
    double n_blocks = ceil(n_keys / 256);
    return 16 + 4 + 3 * n_blocks;
}

bool oracle_in_sight(const struct oracle_problem *p, int64_t b, int64_t i, int64_t j) {
    const struct headwise_attention_options *o = p->options;
    int64_t length = p->call->key_lengths != NULL ? p->call->key_lengths[b] : p->keys;
    __int128 offset = p->past;
    if (o->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        offset = (__int128)length - p->queries;
    if (p->call->query_offsets != NULL)
        offset = p->call->query_offsets[b];
    __int128 position = i + offset;
    if (j >= length)
        return false;
    if (o->causal != HEADWISE_CAUSAL_NONE && j > position)
        return false;
    if (o->window_is_set && o->window_left >= 0 && j < position - o->window_left &&
        j >= o->window_first)
        return false;
    if (o->window_is_set && o->window_right >= 0 && j > position + o->window_right)
        return false;
    return true;
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
static void scaled_score(const struct oracle_problem *p, const int64_t q_row, const int64_t k_row,
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
static void capped_score(double cap, double *score, double *bound) {
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
static void masked_score(const struct oracle_problem *p, int64_t b, int64_t h, int64_t i, int64_t j,
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
static void rounded_score(enum headwise_dtype softmax_precision, double *score, double *bound) {
    if (softmax_precision == HEADWISE_F32 || !isfinite(*score))
        return;
    double low = round_to(softmax_precision, *score - *bound);
    double high = round_to(softmax_precision, *score + *bound);
    *score = round_to(softmax_precision, *score);
    *bound = fmax(high - *score, *score - low);
}

/* One row of the softmax. With x = s - max, each numerator carries, as an error in the exponent:
 *   bound(s)   of the score itself; the maximum's error is common to all terms and cancels,
 *   4u |x|     difference, log2(e), their product, in every step from the block's maximum to the
 *              row's: the steps have one sign and add up to x (one u to spare for the score's own
 *              error inside |x|),
 *   3u n       for exp2 (1 ulp = 2u) and the product of the alphas of n blocks,
 *   6u         the numerator's own exp2, 1/sum, and the factor that makes it a weight.
 * A weight's relative error is that of the numerator and of the sum, which is the mean of the
 * numerators' errors under the weights, plus the rounding of the summation. What is below the
 * normal range may be flushed. */
struct row {
    const double *score, *bound;
    double *weight, *weight_bound, *relative;
    double lse, lse_bound;
};

static double row_max(const double *score, int64_t n, double start) {
    for (int64_t j = 0; j < n; j++)
        start = score[j] > start ? score[j] : start;
    return start;
}

static void empty_row(struct row *row, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        row->weight[j] = row->weight_bound[j] = row->relative[j] = 0;
    row->lse = -(double)INFINITY;
    row->lse_bound = 0;
}

static void softmax_row(struct row *row, int64_t n, const float *sink) {
    double max = row_max(row->score, n, sink != NULL ? (double)*sink : -(double)INFINITY);
    double sum = 0, sum_error = 0, n_blocks = ceil((double)n / 256);
    bool nan = false;
    for (int64_t j = 0; j < n; j++)
        nan = nan || isnan(row->score[j]);
    if (max == -(double)INFINITY && !nan) {
        empty_row(row, n);
        return;
    }
    if (sink != NULL && *sink > -INFINITY) {
        sum = exp((double)*sink - max);
        sum_error =
            sum * expm1(4 * BOUND_U * fabs((double)*sink - max) + (3 * n_blocks + 6) * BOUND_U);
    }
    for (int64_t j = 0; j < n; j++) {
        double x = row->score[j] - max;
        double exponent =
            row->bound[j] + 4 * BOUND_U * (fabs(x) + row->bound[j]) + (3 * n_blocks + 6) * BOUND_U;
        row->weight[j] = exp(x);
        row->relative[j] = x == -(double)INFINITY ? 0 : expm1(exponent);
        sum += row->weight[j];
        sum_error += row->weight[j] * row->relative[j];
    }
    double flushed = (double)n * BOUND_NORMAL;
    double spread = (sum_error + flushed) / sum + bound_gamma(sum_roundings((double)n));
    for (int64_t j = 0; j < n; j++) {
        bool hidden = row->score[j] == -(double)INFINITY;
        row->weight[j] /= sum;
        row->relative[j] =
            spread < 1 ? (row->relative[j] + spread) / (1 - spread) : (double)INFINITY;
        row->weight_bound[j] = hidden ? 0 : row->weight[j] * row->relative[j] + 2 * BOUND_NORMAL;
    }
    row->lse = max + log(sum);
    row->lse_bound = (spread < 1 ? -log1p(-spread) : (double)INFINITY) +
                     BOUND_U10 * fabs(log(sum)) + 2 * BOUND_U * (fabs(row->lse) + fabs(max));
}

/* y = gate * sum of weight * value. The chain over a block of at most 256 keys has one rounding a
 * key; every block merged adds 3 (beta, alpha in the scalar tier, sum), 1/sum and the gate 1 each.
 * Hidden keys are left out, whatever their values hold. */
static void weighted_values(const struct oracle_problem *p, const struct row *row, int64_t kv_row,
                            double gate, double *y, double *y_bound) {
    double n_chain = fmin((double)p->keys, 256) + 3 * ceil((double)p->keys / 256) + 2;
    for (int64_t c = 0; c < p->value_dim; c++) {
        double sum = 0, magnitude = 0, carried = 0;
        for (int64_t j = 0; j < p->keys; j++) {
            if (row->score[j] == -(double)INFINITY)
                continue;
            int64_t at = (kv_row + j) * p->value_dim + c;
            double v = p->v[at], v_error = p->v_error != NULL ? p->v_error[at] : 0;
            double reach = fabs(v) + v_error;
            sum += row->weight[j] * v;
            carried += row->weight_bound[j] * reach + row->weight[j] * v_error;
            magnitude += (row->weight[j] + row->weight_bound[j]) * reach;
        }
        *y = gate == 0 ? 0 : gate * sum;
        *y_bound = gate == 0 ? 0
                             : fabs(gate) * (carried + bound_gamma(n_chain) * magnitude) +
                                   BOUND_U * fabs(*y) + 2 * BOUND_TINY;
        y++;
        y_bound++;
    }
}

static double *doubles(int64_t n) {
    return guard_plain((size_t)n, sizeof(double));
}

static struct oracle_result *make_result(const struct oracle_problem *p) {
    struct oracle_result *r = guard_plain(1, sizeof(*r));
    int64_t rows = p->batch * p->heads * p->queries;
    r->batch = p->batch;
    r->heads = p->heads;
    r->queries = p->queries;
    r->keys = p->keys;
    r->value_dim = p->value_dim;
    for (int s = 0; s < 3; s++) {
        r->stage[s] = doubles(rows * p->keys);
        r->stage_bound[s] = doubles(rows * p->keys);
    }
    r->weights = doubles(rows * p->keys);
    r->weights_bound = doubles(rows * p->keys);
    r->mean_weights = doubles(p->batch * p->queries * p->keys);
    r->mean_bound = doubles(p->batch * p->queries * p->keys);
    r->lse = doubles(rows);
    r->lse_bound = doubles(rows);
    r->y = doubles(rows * p->value_dim);
    r->y_bound = doubles(rows * p->value_dim);
    return r;
}

/* scratch: 3 numbers for each key. */
static void solve_row(const struct oracle_problem *p, struct oracle_result *r, double *scratch,
                      int64_t b, int64_t h, int64_t i) {
    double *logits = scratch, *logit_bounds = scratch + p->keys, *relative = scratch + 2 * p->keys;
    const struct headwise_attention_options *o = p->options;
    int64_t row = (b * p->heads + h) * p->queries + i;
    int64_t kv_row = (b * p->kv_heads + h / (p->heads / p->kv_heads)) * p->keys;
    for (int64_t j = 0; j < p->keys; j++) {
        int64_t at = row * p->keys + j;
        double score, bound;
        scaled_score(p, row, kv_row + j, &score, &bound);
        r->stage[0][at] = score;
        r->stage_bound[0][at] = bound;
        capped_score((double)o->softcap, &score, &bound);
        r->stage[1][at] = score;
        r->stage_bound[1][at] = bound;
        masked_score(p, b, h, i, j, &score, &bound);
        r->stage[2][at] = score;
        r->stage_bound[2][at] = bound;
        rounded_score(o->softmax_precision, &score, &bound);
        logits[j] = score;
        logit_bounds[j] = bound;
    }
    struct row w = {logits,
                    logit_bounds,
                    r->weights + row * p->keys,
                    r->weights_bound + row * p->keys,
                    relative,
                    0,
                    0};
    softmax_row(&w, p->keys, o->sinks != NULL ? o->sinks + h : NULL);
    r->lse[row] = w.lse;
    r->lse_bound[row] = w.lse_bound;
    double gate = p->call->head_gates != NULL
                      ? (double)p->call->head_gates[b * p->call->gate_batch_stride + h]
                      : 1;
    weighted_values(p, &w, kv_row, gate, r->y + row * p->value_dim,
                    r->y_bound + row * p->value_dim);
}

static void average_heads(const struct oracle_problem *p, struct oracle_result *r) {
    int64_t map = p->queries * p->keys;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t at = 0; at < map; at++) {
                int64_t from = (b * p->heads + h) * map + at;
                r->mean_weights[b * map + at] += r->weights[from] / (double)p->heads;
                /* H sums, then 1/H and its product */
                r->mean_bound[b * map + at] +=
                    (r->weights_bound[from] + bound_gamma((double)p->heads + 2) *
                                                  (r->weights[from] + r->weights_bound[from])) /
                    (double)p->heads;
            }
}

struct oracle_result *oracle_solve(const struct oracle_problem *p) {
    struct oracle_result *r = make_result(p);
    double *scratch = doubles(3 * p->keys);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t i = 0; i < p->queries; i++)
                solve_row(p, r, scratch, b, h, i);
    average_heads(p, r);
    return r;
}
