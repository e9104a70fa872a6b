/* Sequences of a cache, each with rows of its own. */
#include "api/check.h"
#include "api/check_layer.h"
#include "api/operator.h"
#include "cache/cache.h"
#include "layer/mha.h"
#include "tensors/tensor.h"

/* Rows that belong to sequences of a cache, with the options of the call that reads them. */
static enum headwise_status check_sequences(const char *where, const headwise_context *context,
                                            const headwise_cache *cache, headwise_cache *appended,
                                            struct headwise_ragged *ragged,
                                            const struct headwise_ragged *given, int64_t n_rows,
                                            const struct headwise_attention_options *options) {
    enum headwise_status status = headwise_check_ragged(where, ragged, given, n_rows, -1);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged_cache(where, context, cache, appended, ragged);
    return status == HEADWISE_OK ? headwise_check_ragged_options(where, options) : status;
}

enum headwise_status headwise_cache_append_ragged(headwise_context *context, headwise_cache *cache,
                                                  const struct headwise_tensor *k,
                                                  const struct headwise_tensor *v,
                                                  const struct headwise_ragged *ragged) {
    static const char where[] = "cache_append_ragged";
    struct headwise_ragged sequences;
    enum headwise_status status = headwise_check_cache(where, context, cache, 0, 0);
    if (status == HEADWISE_OK)
        status =
            headwise_check_tensor(where, "k", k, false, 1, cache->n_kv_heads, -1, cache->head_dim);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "v", v, false, 1, cache->n_kv_heads, k->size[2],
                                       cache->value_dim);
    if (status == HEADWISE_OK)
        status =
            check_sequences(where, context, cache, cache, &sequences, ragged, k->size[2], NULL);
    if (status != HEADWISE_OK || headwise_tensor_empty(k))
        return status;
    struct headwise_cache_append append = {.cache = cache, .ragged = &sequences, .k = *k, .v = *v};
    return headwise_cache_append_run(context, &append);
}

enum headwise_status
headwise_attention_ragged_cached(headwise_context *context, const struct headwise_tensor *y,
                                 const struct headwise_tensor *q, const headwise_cache *cache,
                                 const struct headwise_ragged *ragged,
                                 const struct headwise_attention_options *options) {
    static const char where[] = "attention_ragged_cached";
    struct headwise_ragged sequences;
    enum headwise_status status = headwise_check_cache(where, context, cache, 0, 0);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "q", q, false, 1, -1, -1, cache->head_dim);
    if (status == HEADWISE_OK)
        status =
            headwise_check_tensor(where, "y", y, true, 1, q->size[1], q->size[2], cache->value_dim);
    if (status == HEADWISE_OK)
        status =
            check_sequences(where, context, cache, NULL, &sequences, ragged, q->size[2], options);
    if (status != HEADWISE_OK)
        return status;
    const struct headwise_shape shape = {
        .batch = 1,
        .n_heads = q->size[1],
        .n_kv_heads = cache->n_kv_heads,
        .n_queries = q->size[2],
        .n_new_keys = headwise_most_ragged_keys(cache, &sequences, false),
        .head_dim = cache->head_dim,
        .value_dim = cache->value_dim,
        .cache = cache,
        .ragged = &sequences,
    };
    return headwise_operator_run(context, where, &shape, y, q, NULL, NULL, options);
}

/* Rows of x attend, once they were appended (appended is the cache) or without (NULL). */
static enum headwise_status run_layer(const char *where, headwise_context *context,
                                      const headwise_mha *mha, const struct headwise_tensor *y,
                                      const struct headwise_tensor *x, const headwise_cache *cache,
                                      headwise_cache *appended,
                                      const struct headwise_ragged *ragged,
                                      const struct headwise_attention_options *options) {
    struct headwise_ragged sequences;
    struct headwise_call call;
    enum headwise_status status = headwise_check_layer_cache(where, context, mha, cache, 0, 0);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "x", x, false, 1, 1, -1, mha->d_model);
    if (status == HEADWISE_OK && appended)
        status = headwise_check_own_keys(where, mha);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, 1, 1, x->size[2], mha->d_out);
    if (status == HEADWISE_OK)
        status = check_sequences(where, context, cache, appended, &sequences, ragged, x->size[2],
                                 options);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_shape shape = headwise_layer_shape(
        mha, 1, x->size[2], headwise_most_ragged_keys(cache, &sequences, appended != NULL));
    shape.cache = cache;
    shape.n_appended = appended ? 1 : 0;
    shape.ragged = &sequences;
    status = headwise_check_layer_call(&call, where, mha, &shape, options, x->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = y, .x = x, .appended = appended};
    return headwise_mha_run(context, mha, &io, &call);
}

enum headwise_status
headwise_mha_forward_ragged_cached(headwise_context *context, const headwise_mha *mha,
                                   const struct headwise_tensor *y, const struct headwise_tensor *x,
                                   headwise_cache *cache, const struct headwise_ragged *ragged,
                                   const struct headwise_attention_options *options) {
    return run_layer("mha_forward_ragged_cached", context, mha, y, x, cache, cache, ragged,
                     options);
}

enum headwise_status
headwise_mha_attend_ragged_cached(headwise_context *context, const headwise_mha *mha,
                                  const struct headwise_tensor *y, const struct headwise_tensor *x,
                                  const headwise_cache *cache, const struct headwise_ragged *ragged,
                                  const struct headwise_attention_options *options) {
    return run_layer("mha_attend_ragged_cached", context, mha, y, x, cache, NULL, ragged, options);
}
