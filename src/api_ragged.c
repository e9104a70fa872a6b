#include "attention.h"
#include "check.h"
#include "check_layer.h"
#include "error.h"
#include "headwise/ragged.h"
#include "mha.h"
#include "probe.h"
#include "tensor.h"

static enum headwise_status check_tensors(const char *where, const struct headwise_tensor *y,
                                          const struct headwise_tensor *q,
                                          const struct headwise_tensor *k,
                                          const struct headwise_tensor *v) {
    enum headwise_status status = headwise_check_tensor(where, "q", q, false, 1, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "k", k, false, 1, -1, -1, q->size[3]);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "v", v, false, 1, k->size[1], k->size[2], -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, 1, q->size[1], q->size[2], v->size[3]);
    return status;
}

enum headwise_status
headwise_attention_ragged(headwise_context *context, const struct headwise_tensor *y,
                          const struct headwise_tensor *q, const struct headwise_tensor *k,
                          const struct headwise_tensor *v, const struct headwise_ragged *ragged,
                          const struct headwise_attention_options *options) {
    static const char where[] = "attention_ragged";
    struct headwise_call call;
    struct headwise_ragged sequences;
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: context is NULL", where);
    enum headwise_status status = check_tensors(where, y, q, k, v);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged(where, &sequences, ragged, q->size[2], k->size[2]);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged_options(where, options);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_shape shape = {
        .batch = 1,
        .n_heads = q->size[1],
        .n_kv_heads = k->size[1],
        .n_queries = q->size[2],
        .n_new_keys = k->size[2],
        .head_dim = q->size[3],
        .value_dim = v->size[3],
        .k_type = k->dtype,
        .v_type = v->dtype,
        .ragged = &sequences,
    };
    status = headwise_check_call(&call, where, &shape, options);
    if (status == HEADWISE_OK)
        status = headwise_check_operator(where, &call);
    if (status != HEADWISE_OK)
        return status;
    call.y = *y;
    call.q = *q;
    call.k = *k;
    call.v = *v;
    headwise_probe_no_heads(&call);
    if (headwise_tensor_empty(y))
        return HEADWISE_OK;
    return headwise_attention_run(context, &call);
}

enum headwise_status headwise_mha_forward_ragged(headwise_context *context, const headwise_mha *mha,
                                                 const struct headwise_tensor *y,
                                                 const struct headwise_tensor *x,
                                                 const struct headwise_tensor *memory,
                                                 const struct headwise_ragged *ragged,
                                                 const struct headwise_attention_options *options) {
    static const char where[] = "mha_ragged";
    struct headwise_call call;
    struct headwise_ragged sequences;
    enum headwise_status status = headwise_check_layer_inputs(where, context, mha, x, memory, true);
    if (status == HEADWISE_OK) /* of one batch entry */
        status = headwise_check_tensor(where, "x", x, false, 1, 1, -1, mha->d_model);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, 1, 1, x->size[2], mha->d_out);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged(where, &sequences, ragged, x->size[2],
                                       memory ? memory->size[2] : -1);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged_options(where, options);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_shape shape = {
        .batch = 1,
        .n_heads = mha->n_heads,
        .n_kv_heads = mha->n_kv_heads,
        .group_starts = headwise_mha_groups(mha),
        .n_queries = x->size[2],
        .n_new_keys = memory ? memory->size[2] : x->size[2],
        .head_dim = mha->head_dim,
        .value_dim = mha->value_dim,
        .k_type = HEADWISE_F32,
        .v_type = HEADWISE_F32,
        .ragged = &sequences,
    };
    status = headwise_check_call(&call, where, &shape, options);
    if (status == HEADWISE_OK)
        status = headwise_check_layer_positions(where, mha, &call, x->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = y, .x = x, .memory = memory};
    return headwise_mha_run(context, mha, &io, &call);
}
