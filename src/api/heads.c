/* What heads do, of whole maps and outputs: checks. */
#include "headwise/heads.h"
#include "api/check.h"
#include "api/check_layer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "heads/correlation.h"
#include "heads/gram.h"

enum headwise_status headwise_map_correlation(headwise_context *context, double *correlation,
                                              const struct headwise_attention_call *call) {
    static const char where[] = "map_correlation";
    struct headwise_map_job job = {.context = context};
    if (!context || !correlation)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context" : "correlation");
    enum headwise_status status = headwise_take_call(&job.given, where, call);
    const struct headwise_tensor *q = job.given.q, *k = job.given.k;
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "q", q, false, -1, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "k", k, false, q->size[0], -1, -1, q->size[3]);
    if (status == HEADWISE_OK)
        status = headwise_check_plain(where, &job.given);
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
    status = headwise_check_call(&job.call, where, &shape, &job.given);
    return status == HEADWISE_OK ? headwise_map_correlation_run(&job, correlation) : status;
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
