/* Calls over sequences of different lengths. */
#include "headwise/ragged.h"
#include "api/check_layer.h"
#include "api/operator.h"
#include "base/error.h"
#include "layer/mha.h"

enum headwise_status
headwise_attention_ragged(headwise_context *context, const struct headwise_tensor *y,
                          const struct headwise_tensor *q, const struct headwise_tensor *k,
                          const struct headwise_tensor *v, const struct headwise_ragged *ragged,
                          const struct headwise_attention_options *options) {
    static const char where[] = "attention_ragged";
    struct headwise_ragged sequences;
    struct headwise_shape shape = {.ragged = &sequences};
    if (!context)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: context is NULL", where);
    enum headwise_status status = headwise_operator_shape(&shape, where, 1, y, q, k, v);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged(where, &sequences, ragged, q->size[2], k->size[2]);
    if (status == HEADWISE_OK)
        status = headwise_check_ragged_options(where, options);
    return status == HEADWISE_OK
               ? headwise_operator_run(context, where, &shape, y, q, k, v, options)
               : status;
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
    struct headwise_shape shape =
        headwise_layer_shape(mha, 1, x->size[2], memory ? memory->size[2] : x->size[2]);
    shape.ragged = &sequences;
    status = headwise_check_layer_call(&call, where, mha, &shape, options, x->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = y, .x = x, .memory = memory};
    return headwise_mha_run(context, mha, &io, &call);
}
