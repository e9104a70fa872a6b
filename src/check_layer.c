#include "check_layer.h"

#include "check.h"
#include "error.h"

enum headwise_status headwise_check_layer(const char *where, const headwise_context *context,
                                          const headwise_mha *mha) {
    if (!context || !mha)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context" : "the layer");
    if (context->kernels->isa != mha->isa)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: the layer is packed for tier %s, the context runs %s", where,
                             headwise_isa_name(mha->isa), headwise_isa_name(context->kernels->isa));
    return HEADWISE_OK;
}

enum headwise_status headwise_check_layer_cache(const char *where, const headwise_context *context,
                                                const headwise_mha *mha,
                                                const headwise_cache *cache, int64_t first_sequence,
                                                int64_t n) {
    enum headwise_status status = headwise_check_layer(where, context, mha);
    if (status == HEADWISE_OK)
        status = headwise_check_cache(where, context, cache, first_sequence, n);
    if (status == HEADWISE_OK && (headwise_cache_n_kv_heads(cache) != mha->n_kv_heads ||
                                  headwise_cache_head_dim(cache) != mha->head_dim ||
                                  headwise_cache_value_dim(cache) != mha->value_dim))
        status = headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: the cache has %lld kv heads of %lld and %lld, expected %lld of "
            "%lld and %lld as in the layer",
            where, (long long)headwise_cache_n_kv_heads(cache),
            (long long)headwise_cache_head_dim(cache), (long long)headwise_cache_value_dim(cache),
            (long long)mha->n_kv_heads, (long long)mha->head_dim, (long long)mha->value_dim);
    return status;
}
