/* Checks of layers: their configs, and what their calls take. */
#include "api/check_layer.h"

#include <math.h>
#include <stdio.h>

#include "api/check.h"
#include "api/check_weights.h"
#include "attention/ragged.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cache/cache.h"
#include "layer/head_rows.h"
#include "positions/rotary.h"

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

enum headwise_status headwise_check_layer_inputs(const char *where, const headwise_context *context,
                                                 const headwise_mha *mha,
                                                 const struct headwise_tensor *x,
                                                 const struct headwise_tensor *memory,
                                                 bool needs_keys) {
    enum headwise_status status = headwise_check_layer(where, context, mha);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "x", x, false, -1, 1, -1, mha->d_model);
    if (status == HEADWISE_OK && memory)
        status =
            headwise_check_tensor(where, "memory", memory, false, x->size[0], 1, -1, mha->d_memory);
    if (status == HEADWISE_OK && memory && mha->rotary)
        status = headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: memory is given, but a layer with rotary has no positions for it", where);
    if (status == HEADWISE_OK && needs_keys && !memory && mha->d_memory != mha->d_model)
        status = headwise_fail(HEADWISE_ERR_INVALID,
                               "%s: memory is NULL, but d_memory %lld differs from d_model %lld",
                               where, (long long)mha->d_memory, (long long)mha->d_model);
    return status;
}

enum headwise_status headwise_check_layer_cache(const char *where, const headwise_context *context,
                                                const headwise_mha *mha,
                                                const headwise_cache *cache) {
    enum headwise_status status = headwise_check_layer(where, context, mha);
    if (status == HEADWISE_OK)
        status = headwise_check_cache(where, context, cache);
    if (status == HEADWISE_OK &&
        (cache->n_kv_heads != mha->n_kv_heads || cache->head_dim != mha->head_dim ||
         cache->value_dim != mha->value_dim))
        status = headwise_fail(HEADWISE_ERR_INVALID,
                               "%s: the cache has %lld kv heads of %lld and %lld, expected %lld of "
                               "%lld and %lld as in the layer",
                               where, (long long)cache->n_kv_heads, (long long)cache->head_dim,
                               (long long)cache->value_dim, (long long)mha->n_kv_heads,
                               (long long)mha->head_dim, (long long)mha->value_dim);
    return status;
}

struct headwise_shape headwise_layer_shape(const headwise_mha *mha, int64_t batch,
                                           int64_t n_queries, int64_t n_new_keys) {
    return (struct headwise_shape){
        .batch = batch,
        .n_heads = mha->n_heads,
        .n_kv_heads = mha->n_kv_heads,
        .group_starts = headwise_mha_groups(mha),
        .n_queries = n_queries,
        .n_new_keys = n_new_keys,
        .head_dim = mha->head_dim,
        .value_dim = mha->value_dim,
        .k_type = HEADWISE_F32,
        .v_type = HEADWISE_F32,
    };
}

enum headwise_status headwise_check_own_keys(const char *where, const headwise_mha *mha) {
    if (mha->d_memory != mha->d_model)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: keys come from x, but d_memory %lld differs from d_model %lld",
                             where, (long long)mha->d_memory, (long long)mha->d_model);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_mha_weights(const struct headwise_mha_config *config) {
    const struct headwise_weight_types types = {config->weight_dtype, config->packed_dtype,
                                                config->dynamic_int8, config->dynamic_group};
    const struct {
        const char *name;
        const float *scales;
        int64_t n;
    } outputs[] = {
        {"scales_q", config->scales_q, config->n_heads * config->head_dim},
        {"scales_k", config->scales_k, config->n_kv_heads * config->head_dim},
        {"scales_v", config->scales_v, config->n_kv_heads * config->value_dim},
        {"scales_o", config->scales_o, config->d_out},
    };
    int64_t most_inputs = headwise_max(headwise_max(config->d_model, config->d_memory),
                                       config->n_heads * config->value_dim);
    TRY(headwise_check_weight_types("mha", &types, most_inputs));
    for (int i = 0; i < 4; i++)
        TRY(headwise_check_scales("mha", outputs[i].name, outputs[i].scales, outputs[i].n, &types));
    return HEADWISE_OK;
}

enum headwise_status headwise_check_heads_config(struct headwise_mha_config *config) {
    const headwise_rotary *rotary = config->rotary;
    if (rotary && rotary->rotary_dim > config->head_dim)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha: rotary turns %lld components, a head has %lld",
                             (long long)rotary->rotary_dim, (long long)config->head_dim);
    if (rotary && config->d_memory != config->d_model)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha: a layer with rotary has no memory: d_memory is %lld, expected "
                             "d_model %lld",
                             (long long)config->d_memory, (long long)config->d_model);
    if ((config->q_norm_bias && !config->q_norm) || (config->k_norm_bias && !config->k_norm))
        return headwise_fail(HEADWISE_ERR_INVALID, "mha: %s_norm_bias is given without %s_norm",
                             config->q_norm ? "k" : "q", config->q_norm ? "k" : "q");
    if ((unsigned)config->norm > HEADWISE_NORM_LAYER)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha: norm is %d, no headwise_norm",
                             (int)config->norm);
    if (!isfinite(config->norm_eps) || config->norm_eps < 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha: norm_eps is %g, expected a finite number above 0, or 0",
                             (double)config->norm_eps);
    if (config->norm_eps == 0)
        config->norm_eps = 1e-6f;
    return HEADWISE_OK;
}

enum headwise_status headwise_check_layer_positions(const char *where, const headwise_mha *mha,
                                                    const struct headwise_call *call,
                                                    int64_t n_rows) {
    if (!mha->rotary)
        return HEADWISE_OK;
    int64_t n_positions = mha->rotary->n_positions;
    if (call->positions)
        return headwise_check_positions(where, call->positions, call->batch, n_rows, 0,
                                        n_positions);
    const struct headwise_ragged *ragged = &call->ragged;
    enum headwise_status status = HEADWISE_OK;
    for (int64_t b = 0; ragged->query_starts && b < ragged->n_sequences && !status; b++) {
        char name[80];
        snprintf(name, sizeof name, "%.40s: sequence %lld", where, (long long)b);
        status = headwise_check_positions(name, NULL, 1, headwise_ragged_queries(ragged, b),
                                          headwise_ragged_first_position(call, b), n_positions);
    }
    if (ragged->query_starts)
        return status;
    for (int64_t b = 0; b < call->batch && status == HEADWISE_OK; b++)
        status = headwise_check_positions(where, NULL, 1, n_rows,
                                          headwise_first_position(call, b, n_rows), n_positions);
    return status;
}

enum headwise_status headwise_check_layer_call(struct headwise_call *call, const char *where,
                                               const headwise_mha *mha,
                                               const struct headwise_shape *shape,
                                               const struct headwise_attention_call *given,
                                               int64_t n_rows) {
    enum headwise_status status = headwise_check_call(call, where, shape, given);
    return status == HEADWISE_OK ? headwise_check_layer_positions(where, mha, call, n_rows)
                                 : status;
}
