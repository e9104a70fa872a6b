/* The attention call: over tensors or a cache, of a batch or of packed sequences. */
#include "attention/attention.h"
#include "api/check.h"
#include "base/error.h"
#include "cache/cache.h"

static const char where[] = "attention";

static enum headwise_status check_components(const char *name, const struct headwise_tensor *t) {
    if (t->size[3] < 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s has size 0 on its column axis, expected 1 or more", where,
                             name);
    return HEADWISE_OK;
}

/* Checks q, k, v and y, of batch entries (-1: any number), and sets the sizes and types that follow
 * from them. */
static enum headwise_status tensor_shape(struct headwise_shape *shape,
                                         const struct headwise_attention_call *given,
                                         int64_t batch) {
    const struct headwise_tensor *q = given->q, *k = given->k, *v = given->v;
    enum headwise_status status = headwise_check_tensor(where, "q", q, false, batch, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = check_components("q", q);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "k", k, false, q->size[0], -1, -1, q->size[3]);
    if (status == HEADWISE_OK)
        status =
            headwise_check_tensor(where, "v", v, false, q->size[0], k->size[1], k->size[2], -1);
    if (status == HEADWISE_OK)
        status = check_components("v", v);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", given->y, true, q->size[0], q->size[1],
                                       q->size[2], v->size[3]);
    if (status != HEADWISE_OK)
        return status;
    *shape = (struct headwise_shape){
        .batch = q->size[0],
        .n_heads = q->size[1],
        .n_kv_heads = k->size[1],
        .n_queries = q->size[2],
        .n_new_keys = k->size[2],
        .head_dim = q->size[3],
        .value_dim = v->size[3],
        .k_type = k->dtype,
        .v_type = v->dtype,
    };
    return HEADWISE_OK;
}

/* Sizes and types where keys and values are those of a cache; n_new_keys stays 0. */
static enum headwise_status cache_shape(struct headwise_shape *shape,
                                        const headwise_context *context,
                                        const struct headwise_attention_call *given,
                                        int64_t batch) {
    static const char why[] = "keys and values are the cache's";
    const headwise_cache *cache = given->cache;
    const struct headwise_tensor *q = given->q;
    enum headwise_status status = headwise_check_cache(where, context, cache);
    if (status == HEADWISE_OK)
        status = headwise_check_absent(where, "k", given->k, why);
    if (status == HEADWISE_OK)
        status = headwise_check_absent(where, "v", given->v, why);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "q", q, false, batch, -1, -1, cache->head_dim);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", given->y, true, q->size[0], q->size[1],
                                       q->size[2], cache->value_dim);
    if (status != HEADWISE_OK)
        return status;
    *shape = (struct headwise_shape){
        .batch = q->size[0],
        .n_heads = q->size[1],
        .n_kv_heads = cache->n_kv_heads,
        .n_queries = q->size[2],
        .head_dim = cache->head_dim,
        .value_dim = cache->value_dim,
        .cache = cache,
        .first_sequence = given->first_sequence,
    };
    return HEADWISE_OK;
}

/* What only a layer has. */
static enum headwise_status check_layers_own(const struct headwise_call *call,
                                             const struct headwise_attention_call *given) {
    static const char why[] = "it is for a layer's calls";
    if (call->probe.contributions)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: contributions need W_O: ask a layer's forward call", where);
    if (given->positions)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: positions are for layers with rotary: turn q and k with "
                             "headwise_rotate()",
                             where);
    enum headwise_status status = headwise_check_absent(where, "x", given->x, why);
    if (status == HEADWISE_OK)
        status = headwise_check_absent(where, "memory", given->memory, why);
    if (status == HEADWISE_OK && given->attend_only)
        status = headwise_fail(HEADWISE_ERR_INVALID, "%s: attend_only is set, expected false: %s",
                               where, why);
    return status;
}

static enum headwise_status check_all(struct headwise_call *call, struct headwise_ragged *ragged,
                                      const headwise_context *context,
                                      const struct headwise_attention_call *given) {
    struct headwise_shape shape;
    bool packed = headwise_is_packed(given);
    enum headwise_status status = given->cache
                                      ? cache_shape(&shape, context, given, packed ? 1 : -1)
                                      : tensor_shape(&shape, given, packed ? 1 : -1);
    if (status != HEADWISE_OK)
        return status;
    status = headwise_check_rows(where, ragged, given, shape.batch, shape.n_queries,
                                 given->cache ? -1 : shape.n_new_keys, false);
    if (status != HEADWISE_OK)
        return status;
    if (given->cache)
        shape.n_new_keys = headwise_most_keys(given, ragged, shape.batch, 0);
    shape.ragged = packed ? ragged : NULL;
    status = headwise_check_call(call, where, &shape, given);
    return status == HEADWISE_OK ? check_layers_own(call, given) : status;
}

enum headwise_status headwise_attention(headwise_context *context,
                                        const struct headwise_attention_call *call) {
    struct headwise_attention_call given;
    struct headwise_ragged ragged;
    struct headwise_call checked;
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: context is NULL", where);
    enum headwise_status status = headwise_take_call(&given, where, call);
    if (status == HEADWISE_OK)
        status = check_all(&checked, &ragged, context, &given);
    if (status != HEADWISE_OK)
        return status;
    checked.y = *given.y;
    checked.q = *given.q;
    if (!given.cache) {
        checked.k = *given.k;
        checked.v = *given.v;
    }
    return headwise_attention_run(context, &checked);
}
