/* Linear projections: rows of x times packed matrices. */
#ifndef HEADWISE_PROJECT_H
#define HEADWISE_PROJECT_H

#include "base/alloc.h"
#include "linear/matrix.h"

/* One x (m rows of k floats, x_stride apart) against up to three matrices of the same k: one pass
 * over x. Output row r goes to y + r * y_stride, headwise_matrix_padded(n) floats of it. */
enum { HEADWISE_MAX_OUTPUTS = 3 };

/* What a worker's scratch holds: the packed inputs from `first` on of the rows from `row` on. */
struct headwise_held {
    _Alignas(HEADWISE_ALIGNMENT) const struct headwise_projection *projection; /* or NULL */
    int64_t row, first;
};

struct headwise_projection {
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes */
    const float *x;
    int64_t x_stride, m, k;
    int n_outputs;
    struct headwise_projection_output {
        const struct headwise_matrix *matrix;
        float *y;
        int64_t y_stride;
    } outputs[HEADWISE_MAX_OUTPUTS];
    /* Of a projection that headwise_projection_plan cuts. */
    int64_t n_panels; /* of all outputs together */
    int64_t block_rows, row_blocks, rows_at_once, panel_groups;
    float *scratch;             /* headwise_projection_floats() for each worker */
    struct headwise_held *held; /* for each worker, cleared; projections of one scratch share it */
};

/* Fills in how the work is cut, once everything above scratch is set. */
void headwise_projection_plan(struct headwise_projection *projection, int n_threads);

int64_t headwise_projection_tasks(const struct headwise_projection *projection);

/* Scratch of one worker, in floats. */
int64_t headwise_projection_floats(const struct headwise_kernels *kernels);

/* Task index of headwise_projection_tasks(). */
void headwise_projection_run(const struct headwise_projection *projection, int64_t index,
                             int worker);

/* Panels first ... last - 1, counted over all outputs, for the m rows from `row` on, at most
 * project_rows of the block sizes: a part of a projection that the caller cuts. */
void headwise_projection_part(const struct headwise_projection *projection, int64_t row, int64_t m,
                              int64_t first, int64_t last, int worker);

#endif
