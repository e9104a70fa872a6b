/* Adds residuals to rows and normalizes them, in blocks of rows. */
#include "rows/normalize.h"

#include "base/error.h"
#include "base/scratch.h"
#include "context/parallel.h"
#include "context/waking.h"
#include "rows/end.h"

/* Rows per task. */
enum { TASK_ROWS = 32 };

struct normalization {
    const struct headwise_rows *rows;
    struct headwise_row_end end;
};

static void normalize_task(void *arg, int64_t index, int worker) {
    const struct normalization *job = arg;
    int64_t first = index * TASK_ROWS;
    (void)worker;
    /* Rows are only written where they are y or sum too: without norm_first nothing else is. */
    headwise_row_end_run(&job->end, (float *)job->rows->x + first * job->rows->x_stride,
                         job->rows->x_stride, first,
                         headwise_min(TASK_ROWS, job->rows->n_rows - first));
}

enum headwise_status headwise_normalize_run(headwise_context *context,
                                            const struct headwise_rows *rows) {
    int64_t floats = 0;
    headwise_take(&floats, 1, headwise_norm_floats(rows->norm, rows->n));
    TRY(headwise_context_begin(context, headwise_float_bytes(floats)));
    struct normalization job = {
        .rows = rows,
        .end = {.kernels = context->kernels,
                .n = rows->n,
                .residual = {(float *)rows->residual, rows->residual_stride},
                .y = {rows->y, rows->y_stride},
                .sum = {rows->sum, rows->sum_stride},
                .norm = headwise_norm_prepare(rows->norm, context->kernels, rows->n,
                                              context->scratch)}};
    struct headwise_phase phase = {headwise_ceil_div(rows->n_rows, TASK_ROWS), normalize_task,
                                   &job};
    double elements = (double)rows->n_rows * (double)rows->n;
    enum headwise_status status =
        headwise_parallel_run(context, &phase, 1, headwise_is_tiny(elements, HEADWISE_WAKING_ROWS));
    headwise_context_end(context);
    return status;
}
