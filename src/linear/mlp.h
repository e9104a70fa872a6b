/* An MLP's inside. */
#ifndef HEADWISE_SRC_MLP_H
#define HEADWISE_SRC_MLP_H

#include "context/context.h"
#include "linear/matrix.h"

struct headwise_mlp {
    enum headwise_isa isa; /* the tier that the weights are packed for */
    struct headwise_matrix up, gate, down;
    struct headwise_allocator allocator;
    struct headwise_mlp_info info; /* what a caller sees of it */
};

/* Creates an MLP from a checked config whose defaults are filled in. */
enum headwise_status headwise_mlp_build(headwise_mlp **mlp, headwise_context *context,
                                        const struct headwise_mlp_config *config);

/* Runs a checked call, said as a layer's, whose strides are filled in. HEADWISE_ERR_NO_MEMORY:
 * nothing was written. */
enum headwise_status headwise_mlp_run(headwise_context *context, const headwise_mlp *mlp,
                                      const struct headwise_linear_call *call);

#endif
