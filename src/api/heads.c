/* Calls that look at the heads of a layer. */
#include "headwise/heads.h"
#include "api/check.h"
#include "api/check_layer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "heads/correlation.h"
#include "heads/gram.h"

/* q, k, v of headwise_mha_project: each NULL, or an output of these sizes. */
static enum headwise_status check_projected(const headwise_mha *mha,
                                            const struct headwise_tensor *q,
                                            const struct headwise_tensor *k,
                                            const struct headwise_tensor *v, int64_t batch,
                                            int64_t n_queries, int64_t n_keys) {
    static const char where[] = "mha_project";
    enum headwise_status status = HEADWISE_OK;
    if (q)
        status = headwise_check_tensor(where, "q", q, true, batch, mha->n_heads, n_queries,
                                       mha->head_dim);
    if (status == HEADWISE_OK && k)
        status = headwise_check_tensor(where, "k", k, true, batch, mha->n_kv_heads, n_keys,
                                       mha->head_dim);
    if (status == HEADWISE_OK && v)
        status = headwise_check_tensor(where, "v", v, true, batch, mha->n_kv_heads, n_keys,
                                       mha->value_dim);
    return status;
}

enum headwise_status headwise_mha_project(headwise_context *context, const headwise_mha *mha,
                                          const struct headwise_tensor *q,
                                          const struct headwise_tensor *k,
                                          const struct headwise_tensor *v,
                                          const struct headwise_tensor *x,
                                          const struct headwise_tensor *memory,
                                          const struct headwise_attention_options *options) {
    static const char where[] = "mha_project";
    struct headwise_call call;
    enum headwise_status status =
        headwise_check_layer_inputs(where, context, mha, x, memory, k || v);
    if (status != HEADWISE_OK)
        return status;
    int64_t n_keys = memory ? memory->size[2] : x->size[2];
    status = check_projected(mha, q, k, v, x->size[0], x->size[2], n_keys);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_shape shape = headwise_layer_shape(mha, x->size[0], x->size[2], n_keys);
    status = headwise_check_call(&call, where, &shape, options);
    if (status == HEADWISE_OK && (q || k))
        status = headwise_check_layer_positions(where, mha, &call, n_keys);
    if (status != HEADWISE_OK || (!q && !k && !v))
        return status;
    struct headwise_mha_io io = {.x = x, .memory = memory, .q = q, .k = k, .v = v};
    return headwise_mha_run(context, mha, &io, &call);
}

enum headwise_status headwise_map_correlation(headwise_context *context, double *correlation,
                                              const struct headwise_tensor *q,
                                              const struct headwise_tensor *k,
                                              const struct headwise_attention_options *options) {
    static const char where[] = "map_correlation";
    struct headwise_map_job job = {.context = context};
    if (!context || !correlation)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context" : "correlation");
    enum headwise_status status = headwise_check_tensor(where, "q", q, false, -1, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "k", k, false, q->size[0], -1, -1, q->size[3]);
    if (status == HEADWISE_OK)
        status = HEADWISE_COPY_OPTIONS(&job.options, options, "map_correlation: options");
    if (status != HEADWISE_OK)
        return status;
    job.q = *q;
    job.k = *k;
    headwise_map_weights_alone(&job);
    struct headwise_shape shape = {
        .batch = q->size[0],
        .n_heads = q->size[1],
        .n_kv_heads = k->size[1],
        .n_queries = q->size[2],
        .n_new_keys = k->size[2],
        .head_dim = q->size[3],
        .value_dim = 1,
        .k_type = k->dtype,
        .v_type = HEADWISE_F32,
    };
    status = headwise_check_call(&job.call, where, &shape, &job.options);
    return status == HEADWISE_OK ? headwise_map_correlate(&job, correlation) : status;
}

enum headwise_status headwise_contribution_gram(headwise_context *context, const headwise_mha *mha,
                                                double *gram, const float *head_outputs,
                                                int64_t batch, int64_t queries) {
    static const char where[] = "contribution_gram";
    enum headwise_status status = headwise_check_layer(where, context, mha);
    if (status != HEADWISE_OK)
        return status;
    if (mha->n_heads > 0 && (!gram || (!head_outputs && batch > 0 && queries > 0)))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !gram ? "gram" : "head_outputs");
    int64_t rows, floats;
    if (batch < 0 || queries < 0 || !headwise_mul(&rows, batch, queries) ||
        !headwise_mul(&floats, rows, mha->n_heads * mha->value_dim) ||
        floats > (int64_t)(PTRDIFF_MAX / 8))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: batch %lld and queries %lld, expected 0 or more, and an array "
                             "[batch][%lld][queries][%lld] that fits memory",
                             where, (long long)batch, (long long)queries, (long long)mha->n_heads,
                             (long long)mha->value_dim);
    return headwise_gram_sum(context, mha, gram, head_outputs, batch, queries);
}
