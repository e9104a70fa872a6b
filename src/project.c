#include "project.h"

#include <string.h>

#include "alloc.h"
#include "plan.h"

/* Most rows of x per task, a multiple of every tier's tile, and inputs per pass: a slice of x (408
 * KB) stays in the L2 cache while a slice of a panel (32 KB at 32 columns) stays in L1. The weights
 * come from beyond L2 once per task: with 96 rows instead of 384 a layer of width 768 took 4 %
 * longer. */
enum { BLOCK_ROWS = 384, BLOCK_K = 256, X_STRIDE = BLOCK_K + 16 };

/* Floats of x, 32 KB. */
enum { FEW_ROWS_FLOATS = 8 * 1024 };

void headwise_projection_plan(struct headwise_projection *projection, int n_threads) {
    projection->n_panels = 0;
    for (int i = 0; i < projection->n_outputs; i++)
        projection->n_panels +=
            headwise_ceil_div(projection->outputs[i].matrix->n, projection->kernels->nr);
    projection->row_blocks = headwise_ceil_div(projection->m, BLOCK_ROWS);
    projection->block_rows =
        headwise_round_up(headwise_ceil_div(projection->m, headwise_max(projection->row_blocks, 1)),
                          projection->kernels->mr);
    projection->row_blocks =
        headwise_ceil_div(projection->m, headwise_max(projection->block_rows, 1));
    int64_t groups = 1;
    if (n_threads > 1 && projection->row_blocks > 0)
        groups = headwise_ceil_div(4 * n_threads, projection->row_blocks);
    groups = headwise_max(1, headwise_min(groups, projection->n_panels));
    projection->panels_per_group = headwise_max(1, headwise_ceil_div(projection->n_panels, groups));
    projection->panel_groups =
        headwise_ceil_div(projection->n_panels, projection->panels_per_group);
}

int64_t headwise_projection_tasks(const struct headwise_projection *projection) {
    return projection->row_blocks * projection->panel_groups;
}

int64_t headwise_projection_floats(const struct headwise_kernels *kernels) {
    return BLOCK_ROWS * X_STRIDE + BLOCK_K * (int64_t)kernels->nr;
}

/* Copies a slice of x, so that its rows lie next to one another whatever the stride of x. */
static void copy_slice(float *dst, const float *x, int64_t x_stride, int64_t m, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        memcpy(dst + i * X_STRIDE, x + i * x_stride, (size_t)k * sizeof(float));
}

/* Panels first ... last-1, counted over all outputs, for m rows of x and inputs t ... t+k-1.
 * buffer: room for a slice of a panel, NULL where rows are few. */
static void run_panels(const struct headwise_projection *projection, const float *x,
                       int64_t x_stride, int64_t row, int64_t m, int64_t t, int64_t k,
                       int64_t first, int64_t last, float *buffer) {
    const struct headwise_kernels *kernels = projection->kernels;
    bool ends = t + k == projection->k;
    int64_t before = 0; /* panels of the outputs before this one */
    for (int i = 0; i < projection->n_outputs; i++) {
        const struct headwise_projection_output *output = &projection->outputs[i];
        const struct headwise_matrix *matrix = output->matrix;
        int64_t n_panels = headwise_ceil_div(matrix->n, kernels->nr);
        int64_t from = headwise_max(first - before, 0);
        int64_t to = headwise_min(last - before, n_panels);
        for (int64_t c = from * kernels->nr; c < to * kernels->nr; c += kernels->nr) {
            const struct headwise_matrix_slice slice = {matrix,          c, t, k, t > 0, ends,
                                                        matrix->bias + c};
            headwise_matrix_multiply(&slice, kernels, output->y + row * output->y_stride + c,
                                     output->y_stride, x, x_stride, m, buffer);
        }
        before += n_panels;
    }
}

/* Inputs per pass where rows are few and the weights come from memory: as many as leave x in the L1
 * cache, so that long stretches of a panel are read on end. One row at width 2048 took 8 % (f16) to
 * 33 % (f32) longer with BLOCK_K. */
static int64_t few_rows_inputs(int64_t m) {
    return headwise_max(FEW_ROWS_FLOATS / headwise_max(m, 1) / BLOCK_K, 1) * BLOCK_K;
}

void headwise_projection_run(const struct headwise_projection *projection, int64_t index,
                             int worker) {
    const struct headwise_kernels *kernels = projection->kernels;
    int64_t row = index / projection->panel_groups * projection->block_rows;
    int64_t m = headwise_min(projection->block_rows, projection->m - row);
    int64_t first = index % projection->panel_groups * projection->panels_per_group;
    int64_t last = headwise_min(first + projection->panels_per_group, projection->n_panels);
    float *slice = projection->scratch + worker * headwise_projection_floats(kernels);
    bool copies = m > 2 * kernels->mr;
    int64_t step = copies ? BLOCK_K : few_rows_inputs(m);
    for (int64_t t = 0; t == 0 || t < projection->k; t += step) { /* without inputs: the bias */
        int64_t k = headwise_min(step, projection->k - t);
        const float *x = projection->x + row * projection->x_stride + t;
        if (copies)
            copy_slice(slice, x, projection->x_stride, m, k);
        run_panels(projection, copies ? slice : x, copies ? X_STRIDE : projection->x_stride, row, m,
                   t, k, first, last, copies ? slice + BLOCK_ROWS * X_STRIDE : NULL);
    }
}
