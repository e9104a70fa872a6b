/* Computes attention in float64 from the formulas of attention.h, with bounds on errors. */
#include "oracle.h"

#include <math.h>

#include "bounds.h"
#include "guard.h"
#include "oracle_scores.h"

/* How many roundings the sum of a row's numerators has: 16 lanes over a key block of 256, the fold
 * of the lanes, and at most 3 for each further block that is merged (alpha or beta, product, sum).
 * A row of T keys has at most T terms, so an engine that sums them one by one stays inside too
 * where T is small. */
static double sum_roundings(double n_keys) {
    double n_blocks = ceil(n_keys / 256);
    return 16 + 4 + 3 * n_blocks;
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
        oracle_scaled_score(p, row, kv_row + j, &score, &bound);
        r->stage[0][at] = score;
        r->stage_bound[0][at] = bound;
        oracle_capped_score((double)o->softcap, &score, &bound);
        r->stage[1][at] = score;
        r->stage_bound[1][at] = bound;
        oracle_masked_score(p, b, h, i, j, &score, &bound);
        r->stage[2][at] = score;
        r->stage_bound[2][at] = bound;
        oracle_rounded_score(o->softmax_precision, &score, &bound);
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
