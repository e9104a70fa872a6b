/* The calls of MLPs. */
#include "linear/mlp.h"
#include "api/check_linear.h"
#include "api/check_weights.h"
#include "base/error.h"
#include "base/options.h"
#include "headwise/linear.h"

static const char where[] = "mlp";

/* Fills in d_out where it was left 0. */
static enum headwise_status check_sizes(struct headwise_mlp_config *config) {
    TRY(headwise_check_width(where, "d_model", config->d_model, 1));
    TRY(headwise_check_width(where, "d_hidden", config->d_hidden, 1));
    TRY(headwise_check_width(where, "d_out", config->d_out, 0));
    config->d_out = config->d_out ? config->d_out : config->d_model;
    return HEADWISE_OK;
}

static enum headwise_status check_matrices(const struct headwise_mlp_config *config) {
    const struct headwise_weight_types types = {config->weight_dtype, config->packed_dtype,
                                                config->dynamic_int8, config->dynamic_group};
    if (!config->w_up || !config->w_down)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !config->w_up ? "w_up" : "w_down");
    if (!config->w_gate && (config->b_gate || config->scales_gate))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is given without w_gate", where,
                             config->b_gate ? "b_gate" : "scales_gate");
    TRY(headwise_check_layout(where, (int)config->layout));
    TRY(headwise_check_weight_types(
        where, &types, config->d_model > config->d_hidden ? config->d_model : config->d_hidden));
    TRY(headwise_check_scales(where, "scales_up", config->scales_up, config->d_hidden, &types));
    if (config->w_gate)
        TRY(headwise_check_scales(where, "scales_gate", config->scales_gate, config->d_hidden,
                                  &types));
    return headwise_check_scales(where, "scales_down", config->scales_down, config->d_out, &types);
}

enum headwise_status headwise_mlp_create(headwise_mlp **mlp, headwise_context *context,
                                         const struct headwise_mlp_config *config) {
    struct headwise_mlp_config given;
    if (!mlp || !context || !config)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !mlp       ? "the place for it"
                             : !context ? "context"
                                        : "config");
    TRY(HEADWISE_COPY_OPTIONS(&given, config, "mlp: config"));
    TRY(check_sizes(&given));
    TRY(headwise_check_activation(where, "activation", (int)given.activation));
    TRY(check_matrices(&given));
    return headwise_mlp_build(mlp, context, &given);
}

enum headwise_status headwise_mlp_forward(headwise_context *context, const headwise_mlp *mlp,
                                          const struct headwise_mlp_call *call) {
    struct headwise_mlp_call given;
    struct headwise_row_norm norms[2];
    if (!context || !mlp || !call)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context"
                             : !mlp   ? "the MLP"
                                      : "call");
    if (context->kernels->isa != mlp->isa)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: the MLP is packed for tier %s, the context runs %s", where,
                             headwise_isa_name(mlp->isa), headwise_isa_name(context->kernels->isa));
    TRY(HEADWISE_COPY_OPTIONS(&given, call, "mlp: call"));
    struct headwise_linear_call rows = {
        .n_rows = given.n_rows,
        .x = given.x,
        .x_stride = given.x_stride,
        .y = given.y,
        .y_stride = given.y_stride,
        .input_norm = given.input_norm,
        .residual = given.residual,
        .residual_stride = given.residual_stride,
        .output_norm = given.output_norm,
        .norm_before_residual = given.norm_before_residual,
        .sum = given.sum,
        .sum_stride = given.sum_stride,
    };
    TRY(headwise_check_linear_call(where, &rows, norms, mlp->info.d_model, mlp->info.d_out));
    return headwise_mlp_run(context, mlp, &rows);
}
