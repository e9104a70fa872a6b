/* Builds MLPs from checked configs, and runs them. */
#include "linear/mlp.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "linear/job.h"
#include "linear/linear.h"

static enum headwise_status pack_matrices(headwise_mlp *mlp, const headwise_context *context,
                                          const struct headwise_mlp_config *config) {
    const struct {
        struct headwise_matrix *matrix;
        const char *name;
        const void *weights;
        const float *scales, *bias;
        int64_t inputs, outputs;
    } parts[] = {
        {&mlp->up, "w_up", config->w_up, config->scales_up, config->b_up, config->d_model,
         config->d_hidden},
        {&mlp->down, "w_down", config->w_down, config->scales_down, config->b_down,
         config->d_hidden, config->d_out},
        {&mlp->gate, "w_gate", config->w_gate, config->scales_gate, config->b_gate, config->d_model,
         config->d_hidden},
    };
    for (int i = 0; i < (config->w_gate ? 3 : 2); i++) {
        const struct headwise_matrix_source source = {"mlp",
                                                      parts[i].name,
                                                      parts[i].weights,
                                                      config->weight_dtype,
                                                      config->layout,
                                                      parts[i].scales,
                                                      parts[i].bias,
                                                      config->dynamic_int8 ? context->dot : NULL,
                                                      config->dynamic_group};
        TRY(headwise_matrix_create(parts[i].matrix, context->kernels, &context->allocator, &source,
                                   config->packed_dtype, parts[i].inputs, parts[i].outputs));
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_mlp_build(headwise_mlp **mlp, headwise_context *context,
                                        const struct headwise_mlp_config *config) {
    HEADWISE_FLOAT_SCOPE();
    headwise_mlp *created = headwise_alloc(&context->allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mlp: out of memory");
    *created = (headwise_mlp){.isa = context->kernels->isa, .allocator = context->allocator};
    enum headwise_status status = pack_matrices(created, context, config);
    if (status != HEADWISE_OK) {
        headwise_mlp_destroy(created);
        return status;
    }
    created->info = (struct headwise_mlp_info){
        .size = sizeof created->info,
        .d_model = config->d_model,
        .d_hidden = config->d_hidden,
        .d_out = config->d_out,
        .activation = config->activation,
        .gated = config->w_gate != NULL,
        .packed_dtype = config->packed_dtype,
        .dynamic_int8 = config->dynamic_int8,
        .dynamic_group = config->dynamic_group,
        .weight_bytes = headwise_matrix_bytes(&created->up) +
                        headwise_matrix_bytes(&created->gate) +
                        headwise_matrix_bytes(&created->down),
    };
    *mlp = created;
    return HEADWISE_OK;
}

void headwise_mlp_destroy(headwise_mlp *mlp) {
    if (!mlp)
        return;
    struct headwise_allocator allocator = mlp->allocator;
    headwise_matrix_destroy(&mlp->up, &allocator);
    headwise_matrix_destroy(&mlp->gate, &allocator);
    headwise_matrix_destroy(&mlp->down, &allocator);
    headwise_release(&allocator, mlp, sizeof *mlp);
}

const struct headwise_mlp_info *headwise_mlp_describe(const headwise_mlp *mlp) {
    return &mlp->info;
}

enum headwise_status headwise_mlp_run(headwise_context *context, const headwise_mlp *mlp,
                                      const struct headwise_linear_call *call) {
    struct headwise_linear_job job = headwise_linear_job_of(call);
    job.up = &mlp->up;
    job.gate = mlp->info.gated ? &mlp->gate : NULL;
    job.down = &mlp->down;
    job.hidden_activation = mlp->info.activation;
    return headwise_linear_job_run(context, &job);
}
