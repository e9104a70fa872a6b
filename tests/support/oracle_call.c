/* From a call's arguments to a problem, and from a result to the comparison. */
#include <math.h>

#include "bounds.h"
#include "cmocka_headers.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"

const struct headwise_attention_options *
oracle_options(const struct headwise_attention_call *call) {
    static const struct headwise_attention_options none = {.size = sizeof(none)};
    return call->options != NULL ? call->options : &none;
}

double oracle_load(const struct headwise_tensor *t, int64_t b, int64_t h, int64_t r, int64_t c) {
    const int64_t at[4] = {b, h, r, c};
    int64_t offset = 0;
    for (int axis = 0; axis < 4; axis++)
        offset += at[axis] * t->stride[axis];
    return half_load(t->dtype, t->data, offset);
}

/* Rows of past, where there is one, followed by those of t, dense. */
static double *dense(const struct headwise_tensor *past, const struct headwise_tensor *t) {
    int64_t n_past = past != NULL ? past->size[2] : 0;
    int64_t rows = n_past + t->size[2], columns = t->size[3];
    double *out = guard_plain((size_t)(t->size[0] * t->size[1] * rows * columns), sizeof(double));
    int64_t at = 0;
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = 0; c < columns; c++)
                    out[at++] = r < n_past ? oracle_load(past, b, h, r, c)
                                           : oracle_load(t, b, h, r - n_past, c);
    return out;
}

/* The mask of element (b, h, i, j) as something to add. An axis of size 1 is broadcast, keys beyond
 * the mask are hidden, a last axis with stride 0 holds for every key. */
static double mask_value(const struct headwise_tensor *mask, int64_t b, int64_t h, int64_t i,
                         int64_t j) {
    if (mask->stride[3] != 0 && j >= mask->size[3])
        return -(double)INFINITY;
    double x = oracle_load(mask, mask->size[0] == 1 ? 0 : b, mask->size[1] == 1 ? 0 : h,
                           mask->size[2] == 1 ? 0 : i, mask->stride[3] == 0 ? 0 : j);
    if (mask->dtype == HEADWISE_BOOL)
        return x != 0 ? 0 : -(double)INFINITY;
    return x;
}

double *oracle_dense_mask(const struct headwise_tensor *mask, int64_t batch, int64_t heads,
                          int64_t queries, int64_t keys) {
    double *out = guard_plain((size_t)(batch * heads * queries * keys), sizeof(double));
    int64_t at = 0;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t i = 0; i < queries; i++)
                for (int64_t j = 0; j < keys; j++)
                    out[at++] = mask_value(mask, b, h, i, j);
    return out;
}

struct oracle_problem oracle_problem_of(const struct headwise_attention_call *call) {
    const struct headwise_tensor *q = call->q, *k = call->k, *v = call->v;
    int64_t past = call->past_key != NULL ? call->past_key->size[2] : 0;
    int64_t keys = past + k->size[2];
    struct oracle_problem p = {
        .batch = q->size[0],
        .heads = q->size[1],
        .kv_heads = k->size[1],
        .queries = q->size[2],
        .keys = keys,
        .past = past,
        .dim = q->size[3],
        .value_dim = v->size[3],
        .q = dense(NULL, q),
        .k = dense(call->past_key, k),
        .v = dense(call->past_value, v),
        .options = oracle_options(call),
        .call = call,
    };
    if (call->mask != NULL)
        p.mask = oracle_dense_mask(call->mask, p.batch, p.heads, p.queries, p.keys);
    return p;
}

struct oracle_result *oracle_attention(const struct headwise_attention_call *call) {
    struct oracle_problem problem = oracle_problem_of(call);
    return oracle_solve(&problem);
}

static void expect_array(const float *got, const double *want, const double *bound, int64_t n,
                         const char *what) {
    for (int64_t at = 0; got != NULL && at < n; at++)
        if (!compare_close((double)got[at], want[at], bound[at]))
            compare_expect((double)got[at], want[at], bound[at], "%s, element %lld of %lld", what,
                           (long long)at, (long long)n);
}

static void expect_probe(const struct oracle_result *r, const struct headwise_probe *probe) {
    int64_t rows = r->batch * r->heads * r->queries, map = rows * r->keys;
    expect_array(probe->weights, r->weights, r->weights_bound, map, "weights");
    expect_array(probe->mean_weights, r->mean_weights, r->mean_bound,
                 r->batch * r->queries * r->keys, "mean weights");
    if (probe->score_stage == HEADWISE_SCORES_WEIGHTS)
        expect_array(probe->scores, r->weights, r->weights_bound, map, "scores as weights");
    else
        expect_array(probe->scores, r->stage[probe->score_stage],
                     r->stage_bound[probe->score_stage], map, "scores");
    expect_array(probe->lse, r->lse, r->lse_bound, rows, "log-sum-exp");
    expect_array(probe->head_outputs, r->y, r->y_bound, rows * r->value_dim, "head outputs");
    if (r->out != NULL)
        expect_array(probe->contributions, r->contributions, r->contributions_bound,
                     rows * r->out_dim, "contributions");
}

void oracle_expect(const struct oracle_result *r, const struct headwise_tensor *y,
                   const struct headwise_probe *probe) {
    const double *want = r->out != NULL ? r->out : r->y;
    const double *bound = r->out != NULL ? r->out_bound : r->y_bound;
    if (probe != NULL)
        expect_probe(r, probe);
    if (y == NULL)
        return;
    int64_t at = 0;
    for (int64_t b = 0; b < y->size[0]; b++)
        for (int64_t h = 0; h < y->size[1]; h++)
            for (int64_t i = 0; i < y->size[2]; i++)
                for (int64_t c = 0; c < y->size[3]; c++, at++) {
                    double limit = bound[at];
                    if (y->dtype != HEADWISE_F32)
                        limit += bound_rounding(y->dtype, fabs(want[at]) + bound[at]);
                    double got = oracle_load(y, b, h, i, c);
                    if (!compare_close(got, want[at], limit))
                        compare_expect(got, want[at], limit, "y[%lld][%lld][%lld][%lld]",
                                       (long long)b, (long long)h, (long long)i, (long long)c);
                }
}
