/* The rotary operator's driver. */
#ifndef HEADWISE_SRC_ROTATE_H
#define HEADWISE_SRC_ROTATE_H

#include "context/context.h"
#include "headwise/positions.h"

/* One headwise_rotate() call after its arguments were checked. */
struct headwise_rotate_job {
    const struct headwise_kernels *kernels;
    struct headwise_tensor y, x;
    const float *cos, *sin;
    int64_t rotary_dim;
    enum headwise_pairs pairs;
    const int64_t *positions; /* NULL: row b * batch_rows + r */
    int64_t batch_rows;
    int64_t row_blocks; /* the rest is filled in by headwise_rotate_run */
    float *scratch;
    int64_t scratch_stride; /* floats per worker */
};

/* HEADWISE_ERR_NO_MEMORY: nothing was written. */
enum headwise_status headwise_rotate_run(headwise_context *context,
                                         struct headwise_rotate_job *rotation);

#endif
