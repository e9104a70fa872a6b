/* Rotates the rows of a tensor by their positions. */
#include "positions/rotate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scratch.h"
#include "context/parallel.h"
#include "context/waking.h"
#include "positions/rotary.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

/* Rows per task. */
enum { TASK_ROWS = 64 };

/* All heads of one row straight from x to y. */
static void rotate_f32(const struct headwise_rotate_job *rotation, int64_t b, int64_t r,
                       const float *cos, const float *sin) {
    const struct headwise_tensor *y = &rotation->y, *x = &rotation->x;
    headwise_rotate_fn *rotate = headwise_rotate_kernel(rotation->kernels, rotation->pairs);
    int64_t turned = rotation->rotary_dim, kept = x->size[3] - turned;
    rotate(headwise_tensor_row(y, b, 0, r), y->stride[1], headwise_tensor_row(x, b, 0, r),
           x->stride[1], cos, sin, x->size[1], turned / 2);
    for (int64_t h = 0; kept > 0 && y->data != x->data && h < x->size[1]; h++)
        memcpy((float *)headwise_tensor_row(y, b, h, r) + turned,
               (const float *)headwise_tensor_row(x, b, h, r) + turned,
               (size_t)kept * sizeof(float));
}

/* All heads of one row by way of a row of f32. */
static void rotate_converted(const struct headwise_rotate_job *rotation, float *row, int64_t b,
                             int64_t r, const float *cos, const float *sin) {
    const struct headwise_tensor *y = &rotation->y, *x = &rotation->x;
    headwise_rotate_fn *rotate = headwise_rotate_kernel(rotation->kernels, rotation->pairs);
    for (int64_t h = 0; h < x->size[1]; h++) {
        headwise_row_to_f32(rotation->kernels, row, x, b, h, r);
        rotate(row, 0, row, 0, cos, sin, 1, rotation->rotary_dim / 2);
        headwise_row_from_f32(rotation->kernels, headwise_tensor_row(y, b, h, r), y->dtype, row,
                              y->size[3]);
    }
}

static void rotate_task(void *arg, int64_t index, int worker) {
    const struct headwise_rotate_job *rotation = arg;
    int64_t n_rows = rotation->x.size[2], pairs = rotation->rotary_dim / 2;
    int64_t b = index / rotation->row_blocks;
    int64_t first = index % rotation->row_blocks * TASK_ROWS;
    int64_t last = headwise_min(first + TASK_ROWS, n_rows);
    bool f32 = rotation->x.dtype == HEADWISE_F32 && rotation->y.dtype == HEADWISE_F32;
    for (int64_t r = first; r < last; r++) {
        int64_t position = rotation->positions ? rotation->positions[b * n_rows + r]
                                               : b * rotation->batch_rows + r;
        const float *cos = rotation->cos + position * pairs,
                    *sin = rotation->sin + position * pairs;
        if (f32)
            rotate_f32(rotation, b, r, cos, sin);
        else
            rotate_converted(rotation, rotation->scratch + worker * rotation->scratch_stride, b, r,
                             cos, sin);
    }
}

enum headwise_status headwise_rotate_run(headwise_context *context,
                                         struct headwise_rotate_job *rotation) {
    const struct headwise_tensor *x = &rotation->x;
    int64_t row = 0, floats = 0;
    headwise_take(&row, 1, x->size[3]);
    headwise_take(&floats, context->n_threads, row);
    TRY(headwise_context_begin(context, headwise_float_bytes(floats)));
    rotation->scratch_stride = row;
    rotation->kernels = context->kernels;
    rotation->scratch = context->scratch;
    rotation->row_blocks = headwise_ceil_div(x->size[2], TASK_ROWS);
    struct headwise_phase phase = {x->size[0] * rotation->row_blocks, rotate_task, rotation};
    double elements = (double)x->size[0] * (double)x->size[1] * (double)x->size[2];
    enum headwise_status status = headwise_parallel_run(
        context, &phase, 1,
        headwise_is_tiny(elements * (double)x->size[3], HEADWISE_WAKING_ROTATION));
    headwise_context_end(context);
    return status;
}
