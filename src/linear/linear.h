/* A linear layer's inside. */
#ifndef HEADWISE_SRC_LINEAR_H
#define HEADWISE_SRC_LINEAR_H

#include "context/context.h"
#include "linear/matrix.h"

struct headwise_linear {
    enum headwise_isa isa; /* the tier that the weights are packed for */
    struct headwise_matrix matrix;
    struct headwise_allocator allocator;
    struct headwise_linear_info info; /* what a caller sees of it */
};

/* Bytes of a matrix's weights with their scales. */
size_t headwise_matrix_bytes(const struct headwise_matrix *matrix);

/* Creates a layer from a checked config. */
enum headwise_status headwise_linear_build(headwise_linear **linear, headwise_context *context,
                                           const struct headwise_linear_config *config);

/* Runs a checked call, whose strides are filled in. HEADWISE_ERR_NO_MEMORY: nothing was written. */
enum headwise_status headwise_linear_run(headwise_context *context, const headwise_linear *linear,
                                         const struct headwise_linear_call *call);

#endif
