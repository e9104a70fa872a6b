/* The operator behind every attention call: sizes and options into a checked call. */
#include "api/operator.h"

#include "attention/attention.h"
#include "base/error.h"

static enum headwise_status check_components(const char *where, const char *name,
                                             const struct headwise_tensor *t) {
    if (t->size[3] < 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s has size 0 on its column axis, expected 1 or more", where,
                             name);
    return HEADWISE_OK;
}

enum headwise_status headwise_operator_shape(struct headwise_shape *shape, const char *where,
                                             int64_t batch, const struct headwise_tensor *y,
                                             const struct headwise_tensor *q,
                                             const struct headwise_tensor *k,
                                             const struct headwise_tensor *v) {
    enum headwise_status status = headwise_check_tensor(where, "q", q, false, batch, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = check_components(where, "q", q);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "k", k, false, q->size[0], -1, -1, q->size[3]);
    if (status == HEADWISE_OK)
        status =
            headwise_check_tensor(where, "v", v, false, q->size[0], k->size[1], k->size[2], -1);
    if (status == HEADWISE_OK)
        status = check_components(where, "v", v);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, q->size[0], q->size[1], q->size[2],
                                       v->size[3]);
    if (status != HEADWISE_OK)
        return status;
    shape->batch = q->size[0];
    shape->n_heads = q->size[1];
    shape->n_kv_heads = k->size[1];
    shape->n_queries = q->size[2];
    shape->n_new_keys = k->size[2];
    shape->head_dim = q->size[3];
    shape->value_dim = v->size[3];
    shape->k_type = k->dtype;
    shape->v_type = v->dtype;
    return HEADWISE_OK;
}

static enum headwise_status check_layers_own(const char *where, const struct headwise_call *call) {
    if (call->probe.contributions)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: contributions need W_O: ask a layer's forward call", where);
    if (call->options.positions)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: positions are for layers with rotary: turn q and k with "
                             "headwise_rotate()",
                             where);
    return HEADWISE_OK;
}

enum headwise_status headwise_operator_run(headwise_context *context, const char *where,
                                           const struct headwise_shape *shape,
                                           const struct headwise_tensor *y,
                                           const struct headwise_tensor *q,
                                           const struct headwise_tensor *k,
                                           const struct headwise_tensor *v,
                                           const struct headwise_attention_options *options) {
    struct headwise_call call;
    enum headwise_status status = headwise_check_call(&call, where, shape, options);
    if (status == HEADWISE_OK)
        status = check_layers_own(where, &call);
    if (status != HEADWISE_OK)
        return status;
    call.y = *y;
    call.q = *q;
    if (k)
        call.k = *k;
    if (v)
        call.v = *v;
    return headwise_attention_run(context, &call);
}
