/* The calls of a layer: forward, append, project. */
#include "api/check.h"
#include "api/check_layer.h"
#include "base/error.h"
#include "cache/cache.h"
#include "headwise/heads.h"
#include "layer/mha.h"

/* x, and memory or cache, of batch entries (-1: any number). */
static enum headwise_status check_inputs(const char *where, const headwise_context *context,
                                         const headwise_mha *mha,
                                         const struct headwise_attention_call *given,
                                         int64_t batch) {
    enum headwise_status status;
    if (!given->cache) {
        status = headwise_check_layer_inputs(where, context, mha, given->x, given->memory, true);
        if (status == HEADWISE_OK && given->attend_only)
            status = headwise_fail(HEADWISE_ERR_INVALID, "%s: attend_only is set without a cache",
                                   where);
    } else {
        status = headwise_check_layer_cache(where, context, mha, given->cache);
        if (status == HEADWISE_OK)
            status = headwise_check_absent(where, "memory", given->memory,
                                           "keys of a cache come from x or are there already");
    }
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "x", given->x, false, batch, 1, -1, mha->d_model);
    if (status == HEADWISE_OK && given->cache && !given->attend_only)
        status = headwise_check_own_keys(where, mha);
    return status;
}

static enum headwise_status check_operands_absent(const char *where,
                                                  const struct headwise_attention_call *given) {
    static const char why[] = "a layer's queries, keys and values come from x";
    enum headwise_status status = headwise_check_absent(where, "q", given->q, why);
    if (status == HEADWISE_OK)
        status = headwise_check_absent(where, "k", given->k, why);
    return status == HEADWISE_OK ? headwise_check_absent(where, "v", given->v, why) : status;
}

static enum headwise_status check_forward(struct headwise_call *call,
                                          struct headwise_ragged *ragged,
                                          const headwise_context *context, const headwise_mha *mha,
                                          const struct headwise_attention_call *given) {
    static const char where[] = "mha_forward";
    bool packed = headwise_is_packed(given), appends = given->cache && !given->attend_only;
    const struct headwise_tensor *x = given->x, *memory = given->memory;
    enum headwise_status status = check_inputs(where, context, mha, given, packed ? 1 : -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", given->y, true, x->size[0], 1, x->size[2],
                                       mha->d_out);
    if (status == HEADWISE_OK)
        status = check_operands_absent(where, given);
    if (status == HEADWISE_OK)
        status = headwise_check_rows(where, ragged, given, x->size[0], x->size[2],
                                     memory ? memory->size[2] : -1, appends);
    if (status != HEADWISE_OK)
        return status;
    int64_t n_appended = !appends ? 0 : packed ? 1 : x->size[2];
    int64_t n_keys = given->cache ? headwise_most_keys(given, ragged, x->size[0], n_appended)
                     : memory     ? memory->size[2]
                                  : x->size[2];
    struct headwise_shape shape = headwise_layer_shape(mha, x->size[0], x->size[2], n_keys);
    shape.cache = given->cache;
    shape.first_sequence = given->first_sequence;
    shape.n_appended = n_appended;
    shape.ragged = packed ? ragged : NULL;
    return headwise_check_layer_call(call, where, mha, &shape, given, x->size[2]);
}

enum headwise_status headwise_mha_forward(headwise_context *context, const headwise_mha *mha,
                                          const struct headwise_attention_call *call) {
    struct headwise_attention_call given;
    struct headwise_ragged ragged;
    struct headwise_call checked;
    enum headwise_status status = headwise_take_call(&given, "mha_forward", call);
    if (status == HEADWISE_OK)
        status = check_forward(&checked, &ragged, context, mha, &given);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = given.y,
                                 .x = given.x,
                                 .memory = given.memory,
                                 .appended = given.attend_only ? NULL : given.cache};
    return headwise_mha_run(context, mha, &io, &checked);
}

enum headwise_status headwise_mha_append(headwise_context *context, const headwise_mha *mha,
                                         const struct headwise_attention_call *call) {
    static const char where[] = "mha_append";
    struct headwise_attention_call given;
    struct headwise_ragged ragged;
    struct headwise_call checked;
    enum headwise_status status = headwise_take_call(&given, where, call);
    if (status == HEADWISE_OK)
        status = headwise_check_layer_cache(where, context, mha, given.cache);
    if (status != HEADWISE_OK)
        return status;
    bool packed = headwise_is_packed(&given);
    const struct headwise_tensor *memory = given.memory;
    status = headwise_check_tensor(where, "memory", memory, false, packed ? 1 : -1, 1, -1,
                                   mha->d_memory);
    if (status == HEADWISE_OK)
        status =
            headwise_check_rows(where, &ragged, &given, memory->size[0], memory->size[2], -1, true);
    if (status != HEADWISE_OK)
        return status;
    int64_t n_appended = packed ? 1 : memory->size[2];
    struct headwise_shape shape = headwise_layer_shape(
        mha, memory->size[0], 0, headwise_most_keys(&given, &ragged, memory->size[0], n_appended));
    shape.cache = given.cache;
    shape.first_sequence = given.first_sequence;
    shape.n_appended = n_appended;
    shape.ragged = packed ? &ragged : NULL;
    const struct headwise_attention_call read = {.positions = given.positions};
    status = headwise_check_layer_call(&checked, where, mha, &shape, &read, memory->size[2]);
    if (status != HEADWISE_OK || memory->size[0] == 0 || memory->size[2] == 0)
        return status;
    struct headwise_mha_io io = {.memory = memory, .appended = given.cache};
    return headwise_mha_run(context, mha, &io, &checked);
}

/* q, k and v as outputs: each NULL, or of these sizes. */
static enum headwise_status check_projected(const char *where, const headwise_mha *mha,
                                            const struct headwise_attention_call *given,
                                            int64_t n_keys) {
    int64_t batch = given->x->size[0];
    enum headwise_status status = HEADWISE_OK;
    if (given->q)
        status = headwise_check_tensor(where, "q", given->q, true, batch, mha->n_heads,
                                       given->x->size[2], mha->head_dim);
    if (status == HEADWISE_OK && given->k)
        status = headwise_check_tensor(where, "k", given->k, true, batch, mha->n_kv_heads, n_keys,
                                       mha->head_dim);
    if (status == HEADWISE_OK && given->v)
        status = headwise_check_tensor(where, "v", given->v, true, batch, mha->n_kv_heads, n_keys,
                                       mha->value_dim);
    return status;
}

enum headwise_status headwise_mha_project(headwise_context *context, const headwise_mha *mha,
                                          const struct headwise_attention_call *call) {
    static const char where[] = "mha_project";
    struct headwise_attention_call given;
    struct headwise_call checked;
    enum headwise_status status = headwise_take_call(&given, where, call);
    if (status == HEADWISE_OK)
        status = headwise_check_layer_inputs(where, context, mha, given.x, given.memory,
                                             given.k || given.v);
    if (status == HEADWISE_OK)
        status = headwise_check_plain(where, &given);
    if (status != HEADWISE_OK)
        return status;
    int64_t n_keys = given.memory ? given.memory->size[2] : given.x->size[2];
    status = check_projected(where, mha, &given, n_keys);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_shape shape =
        headwise_layer_shape(mha, given.x->size[0], given.x->size[2], n_keys);
    status = headwise_check_call(&checked, where, &shape, &given);
    if (status == HEADWISE_OK && (given.q || given.k))
        status = headwise_check_layer_positions(where, mha, &checked, n_keys);
    if (status != HEADWISE_OK || (!given.q && !given.k && !given.v))
        return status;
    struct headwise_mha_io io = {
        .x = given.x, .memory = given.memory, .q = given.q, .k = given.k, .v = given.v};
    return headwise_mha_run(context, mha, &io, &checked);
}
