/* Attention in float64, written from the formulas of attention.h with plain loops, and for every
 * value a bound on how far an f32 engine may be from it. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "headwise/attention.h"
#include "headwise/mha.h"

/* What a call means, in dense float64 arrays. */
struct oracle_problem {
    int64_t batch, heads, kv_heads, queries, keys, past, dim,
        value_dim;         /* keys = T, with the past */
    const double *q;       /* [B][H][S][D] */
    const double *k;       /* [B][Hkv][T][D] */
    const double *v;       /* [B][Hkv][T][Dv] */
    const double *q_error; /* bounds on the error that q, k, v already have; NULL: exact */
    const double *k_error;
    const double *v_error;
    const double *mask;                               /* [B][H][S][T], added, -inf hides; or NULL */
    const struct headwise_attention_options *options; /* everything else: not NULL */
    const struct headwise_attention_call *call;
};

/* Values and bounds. stage[0 ... 2] are the scores of probe.h's stages, computed for every key. */
struct oracle_result {
    int64_t batch, heads, queries, keys, value_dim, out_dim;
    double *stage[3], *stage_bound[3];           /* [B][H][S][T] */
    double *weights, *weights_bound;             /* [B][H][S][T] */
    double *mean_weights, *mean_bound;           /* [B][S][T] */
    double *lse, *lse_bound;                     /* [B][H][S] */
    double *y, *y_bound;                         /* [B][H][S][Dv], after the gate */
    double *contributions, *contributions_bound; /* layer only: [B][H][S][out] */
    double *out, *out_bound;                     /* layer only: [B][S][out] */
};

/* Everything is allocated by guard_plain() and freed with the test. */
struct oracle_result *oracle_solve(const struct oracle_problem *problem);

/* The problem of a headwise_attention() call over a batch with these q, k and v; outputs are not
 * looked at. */
struct oracle_problem oracle_problem_of(const struct headwise_attention_call *call);
struct oracle_result *oracle_attention(const struct headwise_attention_call *call);

/* A headwise_mha_forward() call over a batch, without a cache, of a layer made from config. */
struct oracle_result *oracle_layer(const struct headwise_mha_config *config,
                                   const struct headwise_attention_call *call);

/* The options of a call, all zero where it has none. */
const struct headwise_attention_options *oracle_options(const struct headwise_attention_call *call);

/* Element of a view. */
double oracle_load(const struct headwise_tensor *t, int64_t b, int64_t h, int64_t r, int64_t c);

/* The mask as [B][H][S][T] numbers to add, -inf where it hides. */
double *oracle_dense_mask(const struct headwise_tensor *mask, int64_t batch, int64_t heads,
                          int64_t queries, int64_t keys);

/* Fails the test where y, or an output that the probe asks for, is beyond its bound. Rounding to
 * y's type is added to the bound. y and probe may be NULL. The layer's y is result->out. */
void oracle_expect(const struct oracle_result *result, const struct headwise_tensor *y,
                   const struct headwise_probe *probe);

/* Whether key j is in sight of query i by causal, window and lengths (not by the mask). */
bool oracle_in_sight(const struct oracle_problem *problem, int64_t b, int64_t i, int64_t j);

#endif
