/* The layer in float64: projections around oracle_solve(), with bounds carried through. */
#include <math.h>

#include "bounds.h"
#include "cmocka_headers.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "oracle_heads.h"

/* A value and the bound on its error, side by side. */
struct field {
    double *value;
    double *bound;
};

static struct field make_field(int64_t n) {
    return (struct field){guard_plain((size_t)n, sizeof(double)),
                          guard_plain((size_t)n, sizeof(double))};
}

static double weight(const struct headwise_mha_config *c, const void *w, int64_t n_out,
                     int64_t n_in, int64_t out, int64_t in) {
    int64_t at = c->layout == HEADWISE_OUT_IN ? out * n_in + in : in * n_out + out;
    return half_load(c->weight_dtype, w, at);
}

/* How far rounding to bytes may move a component of a row that reaches from low to high: half a
 * step and 2^-12 of one (kernels/dot.h), 2^-11 with the roundings of the scale itself; a step is a
 * normal number. */
struct range {
    double low, high;
};

static void stretch(struct range *range, double value, double bound) {
    range->low = fmin(range->low, value - bound);
    range->high = fmax(range->high, value + bound);
}

static double half_step(const struct range *range) {
    return (range->high - range->low) / 255 * (0.5 + 0x1p-11) + BOUND_NORMAL;
}

/* Rows of x times a matrix: one rounding a term, one for I8's scale, one for the bias. Result
 * [B][heads][rows][dim], with past rows first where there are any (they are as exact as their
 * type). */
static struct field project(const struct headwise_mha_config *c, const struct headwise_tensor *x,
                            const void *w, const float *bias, int64_t heads, int64_t dim,
                            const struct headwise_tensor *past) {
    int64_t batch = x->size[0], rows = x->size[2], n_in = x->size[3];
    int64_t n_past = past != NULL ? past->size[2] : 0;
    struct field f = make_field(batch * heads * (n_past + rows) * dim);
    double *half_steps = guard_plain((size_t)(batch * rows), sizeof(double));
    int64_t at = 0;
    for (int64_t i = 0; c->dynamic_int8 && i < batch * rows; i++) {
        struct range range = {0, 0};
        for (int64_t t = 0; t < n_in; t++)
            stretch(&range, oracle_load(x, i / rows, 0, i % rows, t), 0);
        half_steps[i] = half_step(&range);
    }
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t r = 0; r < n_past + rows; r++)
                for (int64_t d = 0; d < dim; d++, at++) {
                    if (r < n_past) {
                        f.value[at] = oracle_load(past, b, h, r, d);
                        continue;
                    }
                    double sum = 0, magnitude = 0, rounded = 0;
                    for (int64_t t = 0; t < n_in; t++) {
                        double value = oracle_load(x, b, 0, r - n_past, t);
                        double factor = weight(c, w, heads * dim, n_in, h * dim + d, t);
                        sum += value * factor;
                        magnitude += fabs(value * factor);
                        rounded += half_steps[b * rows + r - n_past] * fabs(factor);
                    }
                    magnitude += rounded;
                    double add = bias != NULL ? (double)bias[h * dim + d] : 0;
                    f.value[at] = sum + add;
                    f.bound[at] = rounded + bound_gamma((double)n_in + 1) * magnitude +
                                  BOUND_U * fabs(sum + add) + BOUND_TINY;
                }
    return f;
}

/* Projected queries or keys: n_past rows, left as they are, before rows that are changed. */
struct head_rows {
    struct field f;
    const float *weight, *bias; /* of the norm */
    int64_t batch, heads, n_past, rows, dim;
};

/* Norm and rotation of the rows; positions not given begin at first_position. */
static void change_heads(const struct headwise_mha_config *c,
                         const struct headwise_attention_call *call, int64_t first_position,
                         const struct head_rows *p) {
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t r = 0; r < p->rows; r++) {
                int64_t row = (b * p->heads + h) * (p->n_past + p->rows) + p->n_past + r;
                int64_t position =
                    call->positions != NULL ? call->positions[b * p->rows + r] : first_position + r;
                double *value = p->f.value + row * p->dim, *bound = p->f.bound + row * p->dim;
                oracle_norm_head(c, p->weight, p->bias, value, bound, p->dim);
                oracle_rotate_head(c, position, value, bound);
            }
}

/* head_h W_O[h rows] for each head, and their sum with the bias. */
static void project_out(const struct headwise_mha_config *c, struct oracle_result *r) {
    int64_t n_in = r->heads * r->value_dim, rows = r->batch * r->queries;
    struct field parts = make_field(r->batch * r->heads * r->queries * r->out_dim);
    struct field out = make_field(rows * r->out_dim);
    for (int64_t b = 0; b < r->batch; b++)
        for (int64_t i = 0; i < r->queries; i++)
            for (int64_t e = 0; e < r->out_dim; e++) {
                double total = 0, all_magnitude = 0, all_carried = 0;
                struct range range = {0, 0};
                for (int64_t h = 0; c->dynamic_int8 && h < r->heads; h++)
                    for (int64_t d = 0; d < r->value_dim; d++) {
                        int64_t o = ((b * r->heads + h) * r->queries + i) * r->value_dim + d;
                        stretch(&range, r->y[o], r->y_bound[o]);
                    }
                double step = c->dynamic_int8 ? half_step(&range) : 0;
                for (int64_t h = 0; h < r->heads; h++) {
                    int64_t row = (b * r->heads + h) * r->queries + i;
                    double sum = 0, magnitude = 0, carried = 0;
                    for (int64_t d = 0; d < r->value_dim; d++) {
                        double w = weight(c, c->w_o, r->out_dim, n_in, e, h * r->value_dim + d);
                        double o = r->y[row * r->value_dim + d];
                        sum += o * w;
                        magnitude += fabs(o * w);
                        carried += (r->y_bound[row * r->value_dim + d] + step) * fabs(w);
                    }
                    parts.value[row * r->out_dim + e] = sum;
                    double roundings =
                        (double)r->value_dim + (c->packed_dtype == HEADWISE_I8 ? 1 : 0);
                    parts.bound[row * r->out_dim + e] =
                        carried + bound_gamma(roundings) * (magnitude + carried) + BOUND_TINY;
                    total += sum;
                    all_magnitude += magnitude;
                    all_carried += carried;
                }
                double add = c->b_o != NULL ? (double)c->b_o[e] : 0;
                int64_t at = (b * r->queries + i) * r->out_dim + e;
                out.value[at] = total + add;
                out.bound[at] = all_carried +
                                bound_gamma((double)n_in + 1) * (all_magnitude + all_carried) +
                                BOUND_U * fabs(total + add) + BOUND_TINY;
            }
    r->contributions = parts.value;
    r->contributions_bound = parts.bound;
    r->out = out.value;
    r->out_bound = out.bound;
}

/* Rows of heads that norm and rotation change: those of t, behind n_past that stay. */
static struct head_rows head_rows(struct field f, const float *weight, const float *bias,
                                  const struct headwise_tensor *t, int64_t heads, int64_t n_past,
                                  int64_t dim) {
    return (struct head_rows){
        .f = f,
        .weight = weight,
        .bias = bias,
        .batch = t->size[0],
        .heads = heads,
        .n_past = n_past,
        .rows = t->size[2],
        .dim = dim,
    };
}

struct oracle_result *oracle_layer(const struct headwise_mha_config *c,
                                   const struct headwise_attention_call *call) {
    const struct headwise_tensor *x = call->x, *m = call->memory != NULL ? call->memory : x;
    int64_t kv_heads = c->n_kv_heads != 0 ? c->n_kv_heads : c->n_heads;
    int64_t dim = c->head_dim != 0 ? c->head_dim : c->d_model / c->n_heads;
    int64_t value_dim = c->value_dim != 0 ? c->value_dim : dim;
    struct field q = project(c, x, c->w_q, c->b_q, c->n_heads, dim, NULL);
    struct field k = project(c, m, c->w_k, c->b_k, kv_heads, dim, call->past_key);
    struct field v = project(c, m, c->w_v, c->b_v, kv_heads, value_dim, call->past_value);
    int64_t past = call->past_key != NULL ? call->past_key->size[2] : 0;
    struct head_rows queries = head_rows(q, c->q_norm, c->q_norm_bias, x, c->n_heads, 0, dim);
    struct head_rows keys = head_rows(k, c->k_norm, c->k_norm_bias, m, kv_heads, past, dim);
    change_heads(c, call, past, &queries);
    change_heads(c, call, past, &keys);
    struct oracle_problem p = {
        .batch = x->size[0],
        .heads = c->n_heads,
        .kv_heads = kv_heads,
        .queries = x->size[2],
        .keys = past + m->size[2],
        .past = past,
        .dim = dim,
        .value_dim = value_dim,
        .q = q.value,
        .k = k.value,
        .v = v.value,
        .q_error = q.bound,
        .k_error = k.bound,
        .v_error = v.bound,
        .options = oracle_options(call),
        .call = call,
    };
    if (call->mask != NULL)
        p.mask = oracle_dense_mask(call->mask, p.batch, p.heads, p.queries, p.keys);
    struct oracle_result *r = oracle_solve(&p);
    r->out_dim = c->d_out != 0 ? c->d_out : c->d_model;
    project_out(c, r);
    return r;
}
