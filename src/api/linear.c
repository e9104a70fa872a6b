/* The calls of linear layers. */
#include "headwise/linear.h"

#include "api/check_linear.h"
#include "api/check_weights.h"
#include "base/error.h"
#include "base/options.h"
#include "linear/linear.h"

static const char where[] = "linear";

enum headwise_status headwise_linear_create(headwise_linear **linear, headwise_context *context,
                                            const struct headwise_linear_config *config) {
    struct headwise_linear_config given;
    if (!linear || !context || !config)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !linear    ? "the place for it"
                             : !context ? "context"
                                        : "config");
    TRY(HEADWISE_COPY_OPTIONS(&given, config, "linear: config"));
    TRY(headwise_check_width(where, "n_inputs", given.n_inputs, 1));
    TRY(headwise_check_width(where, "n_outputs", given.n_outputs, 1));
    TRY(headwise_check_layout(where, (int)given.layout));
    if (!given.weights)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: weights is NULL", where);
    const struct headwise_weight_types types = {given.weight_dtype, given.packed_dtype,
                                                given.dynamic_int8, given.dynamic_group};
    TRY(headwise_check_weight_types(where, &types, given.n_inputs));
    TRY(headwise_check_scales(where, "scales", given.scales, given.n_outputs, &types));
    return headwise_linear_build(linear, context, &given);
}

enum headwise_status headwise_linear_forward(headwise_context *context,
                                             const headwise_linear *linear,
                                             const struct headwise_linear_call *call) {
    struct headwise_linear_call given;
    struct headwise_row_norm norms[2];
    if (!context || !linear || !call)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context  ? "context"
                             : !linear ? "the layer"
                                       : "call");
    if (context->kernels->isa != linear->isa)
        return headwise_fail(
            HEADWISE_ERR_INVALID, "%s: the layer is packed for tier %s, the context runs %s", where,
            headwise_isa_name(linear->isa), headwise_isa_name(context->kernels->isa));
    TRY(HEADWISE_COPY_OPTIONS(&given, call, "linear: call"));
    TRY(headwise_check_linear_call(where, &given, norms, linear->info.n_inputs,
                                   linear->info.n_outputs));
    return headwise_linear_run(context, linear, &given);
}
