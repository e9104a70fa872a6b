/* Builds linear layers from checked configs, and runs them. */
#include "linear/linear.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "linear/job.h"

size_t headwise_matrix_bytes(const struct headwise_matrix *matrix) {
    return matrix->panels_bytes + (matrix->scales ? matrix->scales_bytes : 0);
}

enum headwise_status headwise_linear_build(headwise_linear **linear, headwise_context *context,
                                           const struct headwise_linear_config *config) {
    HEADWISE_FLOAT_SCOPE();
    headwise_linear *created = headwise_alloc(&context->allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "linear: out of memory");
    *created = (headwise_linear){.isa = context->kernels->isa, .allocator = context->allocator};
    const struct headwise_matrix_source source = {"linear",
                                                  "weights",
                                                  config->weights,
                                                  config->weight_dtype,
                                                  config->layout,
                                                  config->scales,
                                                  config->bias,
                                                  config->dynamic_int8 ? context->dot : NULL,
                                                  config->dynamic_group};
    enum headwise_status status =
        headwise_matrix_create(&created->matrix, context->kernels, &context->allocator, &source,
                               config->packed_dtype, config->n_inputs, config->n_outputs);
    if (status != HEADWISE_OK) {
        headwise_linear_destroy(created);
        return status;
    }
    created->info = (struct headwise_linear_info){
        .size = sizeof created->info,
        .n_inputs = config->n_inputs,
        .n_outputs = config->n_outputs,
        .packed_dtype = config->packed_dtype,
        .dynamic_int8 = config->dynamic_int8,
        .dynamic_group = config->dynamic_group,
        .weight_bytes = headwise_matrix_bytes(&created->matrix),
    };
    *linear = created;
    return HEADWISE_OK;
}

void headwise_linear_destroy(headwise_linear *linear) {
    if (!linear)
        return;
    struct headwise_allocator allocator = linear->allocator;
    headwise_matrix_destroy(&linear->matrix, &allocator);
    headwise_release(&allocator, linear, sizeof *linear);
}

const struct headwise_linear_info *headwise_linear_describe(const headwise_linear *linear) {
    return &linear->info;
}

enum headwise_status headwise_linear_run(headwise_context *context, const headwise_linear *linear,
                                         const struct headwise_linear_call *call) {
    struct headwise_linear_job job = headwise_linear_job_of(call);
    job.down = &linear->matrix;
    return headwise_linear_job_run(context, &job);
}
