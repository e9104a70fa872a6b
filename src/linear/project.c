/* Cuts projections into tasks, and runs them. */
#include "linear/project.h"

#include "base/alloc.h"
#include "kernels/panel.h"
#include "linear/dynamic.h"

/* A pass of a task's packed rows of x: floats from row to row, a cache line more than its inputs,
 * and of all rows. */
static int64_t pass_stride(const struct headwise_kernels *kernels) {
    return kernels->sizes.project_inputs + 16;
}

static int64_t pass_floats(const struct headwise_kernels *kernels) {
    return kernels->sizes.project_rows * pass_stride(kernels);
}

/* Floats of x, 32 KB; and rows of contributions that a task forms. */
enum { FEW_ROWS = 8, FEW_ROWS_FLOATS = 8 * 1024, TILE_ROWS = 64 };

enum { TASKS_PER_THREAD = 4 };

/* Where rows are rounded: as many of them are worth a thread's reading all weights; and blocks are
 * of whole tiles of the largest instructions. */
enum { SHARED_ROWS = 48, ROUNDED_ROWS = 32 };

static bool rounds_inputs(const struct headwise_projection *projection) {
    return projection->n_outputs > 0 && projection->outputs[0].matrix->together;
}

void headwise_projection_plan(struct headwise_projection *projection, int n_threads) {
    projection->n_panels = 0;
    for (int i = 0; i < projection->n_outputs; i++)
        projection->n_panels +=
            headwise_ceil_div(projection->outputs[i].matrix->n, projection->kernels->nr);
    projection->row_blocks =
        headwise_ceil_div(projection->m, projection->kernels->sizes.project_rows);
    if (rounds_inputs(projection)) /* every thread rounds rows of its own */
        projection->row_blocks = headwise_max(projection->row_blocks,
                                              headwise_min(n_threads, projection->m / SHARED_ROWS));
    projection->block_rows =
        headwise_round_up(headwise_ceil_div(projection->m, headwise_max(projection->row_blocks, 1)),
                          rounds_inputs(projection) ? ROUNDED_ROWS : projection->kernels->mr);
    projection->row_blocks =
        headwise_ceil_div(projection->m, headwise_max(projection->block_rows, 1));
    /* Every thread has blocks of its own while there are some, so that it packs few of them. */
    projection->rows_at_once = headwise_min(projection->row_blocks, n_threads);
    int64_t groups = 1;
    if (n_threads > 1 && projection->row_blocks > 0)
        groups = headwise_ceil_div(TASKS_PER_THREAD * n_threads, projection->row_blocks);
    projection->panel_groups = headwise_max(1, headwise_min(groups, projection->n_panels));
}

int64_t headwise_projection_tasks(const struct headwise_projection *projection) {
    return projection->row_blocks * projection->panel_groups;
}

int64_t headwise_projection_floats(const struct headwise_kernels *kernels) {
    int64_t tile = TILE_ROWS * (int64_t)kernels->nr;
    const struct headwise_block_sizes *sizes = &kernels->sizes;
    int64_t passes = sizes->project_slice / sizes->project_inputs;
    return headwise_max(passes * pass_floats(kernels) +
                            sizes->project_inputs * (int64_t)kernels->nr,
                        headwise_dynamic_floats(kernels) + tile);
}

static float *worker_scratch(const struct headwise_projection *projection, int worker) {
    return projection->scratch + worker * headwise_projection_floats(projection->kernels);
}

/* Rows up to which x is read where it is: by tiles of up to 8 rows, while narrow weights are read
 * as they are. Packed for one tile of AVX-512, 9 to 12 rows take 13 to 27 % less time. */
static int64_t few_rows(const struct headwise_projection *projection) {
    bool narrow = projection->n_outputs > 0 && projection->outputs[0].matrix->dtype != HEADWISE_F32;
    return narrow ? 2 * projection->kernels->mr : FEW_ROWS;
}

/* Inputs per pass where rows are few and the weights come from memory: as many as leave x in the L1
 * cache, so that long stretches of a panel are read on end. One row at width 2048 took 8 % (f16) to
 * 33 % (f32) longer with project_inputs. */
static int64_t few_rows_inputs(const struct headwise_kernels *kernels, int64_t m) {
    int64_t step = kernels->sizes.project_inputs;
    return headwise_max(FEW_ROWS_FLOATS / headwise_max(m, 1) / step, 1) * step;
}

/* Inputs first ... end - 1 of a task's rows of x as kernels read them, in passes of at most step
 * inputs. */
struct slice {
    const float *x;
    int64_t stride;
    int64_t pass_floats; /* from one pass to the next */
    int a_rows;
    int64_t first, end, step;
    float *buffer; /* to widen a pass of a panel in; NULL where rows are few */
};

/* Packs the inputs first ... end - 1 of m rows, unless they are what the worker packed last: its
 * next task is often of the same rows. On two threads that made layers of 128 rows, 384 wide,
 * 3 % faster. */
static void pack_inputs(const struct headwise_projection *projection, int64_t row, int64_t m,
                        int64_t first, int64_t end, int worker) {
    const struct headwise_kernels *kernels = projection->kernels;
    struct headwise_held *held = projection->held + worker;
    if (held->projection == projection && held->row == row && held->first == first)
        return;
    *held = (struct headwise_held){projection, row, first};
    const float *x = projection->x + row * projection->x_stride;
    float *packed = worker_scratch(projection, worker);
    int64_t step = kernels->sizes.project_inputs;
    for (int64_t t = first; t < end; t += step) {
        kernels->pack_rows(packed, pass_stride(kernels), x + t, projection->x_stride, m,
                           headwise_min(step, end - t));
        packed += pass_floats(kernels);
    }
}

/* The slice from input first on. Few rows are read where they are. */
static struct slice take_slice(const struct headwise_projection *projection, int64_t row, int64_t m,
                               int64_t first, int worker) {
    const struct headwise_kernels *kernels = projection->kernels;
    const float *x = projection->x + row * projection->x_stride + first;
    if (m <= few_rows(projection))
        return (struct slice){.x = x,
                              .stride = projection->x_stride,
                              .pass_floats = few_rows_inputs(kernels, m),
                              .a_rows = 1,
                              .first = first,
                              .end = projection->k,
                              .step = few_rows_inputs(kernels, m)};
    const struct headwise_block_sizes *sizes = &kernels->sizes;
    int64_t end = headwise_min(first + sizes->project_slice, projection->k);
    float *scratch = worker_scratch(projection, worker);
    pack_inputs(projection, row, m, first, end, worker);
    return (struct slice){.x = scratch,
                          .stride = pass_stride(kernels),
                          .pass_floats = pass_floats(kernels),
                          .a_rows = kernels->row_panel,
                          .first = first,
                          .end = end,
                          .step = sizes->project_inputs,
                          .buffer = scratch + sizes->project_slice / sizes->project_inputs *
                                                  pass_floats(kernels)};
}

/* What run_panels does with each panel of an output, from column c on. */
struct work {
    const struct headwise_projection *projection;
    int64_t row, m;
    const struct slice *slice;
    const struct headwise_dynamic *dynamic; /* layers that round x; else NULL */
};

/* Inputs t ... t + k - 1 of n columns from c on. */
static struct headwise_matrix_slice part_of(const struct work *work,
                                            const struct headwise_matrix *matrix, int64_t c,
                                            int64_t n, int64_t t, int64_t k) {
    return (struct headwise_matrix_slice){.matrix = matrix,
                                          .c = c,
                                          .n = n,
                                          .t = t,
                                          .k = k,
                                          .resume = t > 0,
                                          .ends = t + k == work->projection->k,
                                          .bias = matrix->bias + c};
}

/* n columns of an output from c on, one panel or whole panels, for m rows from row on. */
static void run_panel(const struct work *work, const struct headwise_projection_output *output,
                      int64_t c, int64_t n) {
    const struct headwise_projection *projection = work->projection;
    const struct headwise_matrix *matrix = output->matrix;
    const struct slice *slice = work->slice;
    const float *x = slice->x;
    int64_t t = slice->first;
    do { /* once without inputs: the bias */
        int64_t k = headwise_min(slice->step, slice->end - t);
        const struct headwise_matrix_slice part = part_of(work, matrix, c, n, t, k);
        const struct headwise_matrix_input input = {x, slice->stride, slice->a_rows, work->m};
        headwise_matrix_multiply(&part, projection->kernels,
                                 output->y + work->row * output->y_stride + c, output->y_stride,
                                 &input, slice->buffer);
        x += slice->pass_floats;
        t += k;
    } while (t < slice->end);
}

/* n columns of an output of a layer that rounds x, in the slice's one pass. */
static void run_dynamic_panel(const struct work *work,
                              const struct headwise_projection_output *output, int64_t c,
                              int64_t n) {
    const struct headwise_matrix *matrix = output->matrix;
    int64_t t = work->slice->first, k = work->slice->end - t;
    const struct headwise_matrix_slice part = part_of(work, matrix, c, n, t, k);
    headwise_dynamic_multiply(work->dynamic, &part, output->y + work->row * output->y_stride + c,
                              output->y_stride);
}

/* Columns that one call takes from c on. Few rows, whose inputs are done in one pass, take all
 * panels at once; many, or inputs in several passes, one panel after the other. */
static int64_t columns_at_once(const struct work *work, int64_t columns, int64_t c) {
    const struct headwise_kernels *kernels = work->projection->kernels;
    const struct slice *slice = work->slice;
    bool at_once = !work->dynamic && !slice->buffer && slice->end - slice->first <= slice->step;
    return at_once ? headwise_whole_panels(kernels, columns, c)
                   : headwise_panel_width(kernels, columns, c);
}

/* Panels first ... last-1, counted over all outputs. */
static void run_panels(const struct work *work, int64_t first, int64_t last) {
    const struct headwise_projection *projection = work->projection;
    int nr = projection->kernels->nr;
    int64_t before = 0; /* panels of the outputs before this one */
    for (int i = 0; i < projection->n_outputs; i++) {
        const struct headwise_projection_output *output = &projection->outputs[i];
        int64_t n_panels = headwise_ceil_div(output->matrix->n, nr);
        int64_t end = headwise_min((last - before) * nr, output->matrix->n);
        for (int64_t c = headwise_max(first - before, 0) * nr, n; c < end; c += n) {
            n = columns_at_once(work, end, c);
            if (work->dynamic)
                run_dynamic_panel(work, output, c, n);
            else
                run_panel(work, output, c, n);
        }
        before += n_panels;
    }
}

/* Rounds the inputs of a slice, unless they are what the worker rounded last. */
static void round_inputs(const struct work *work, int worker) {
    struct headwise_held *held = work->projection->held + worker;
    const struct slice *slice = work->slice;
    bool same_rows = held->projection == work->projection && held->row == work->row;
    if (same_rows && held->first == slice->first)
        return;
    *held = (struct headwise_held){work->projection, work->row, slice->first};
    if (!same_rows)
        headwise_dynamic_begin(work->dynamic);
    headwise_dynamic_round(work->dynamic, slice->first, slice->end - slice->first);
}

/* All of a task of layers that round x. */
static void run_dynamic(struct work *work, struct slice *slice, int64_t first, int64_t last,
                        int worker) {
    const struct headwise_projection *projection = work->projection;
    struct headwise_dot_state state = {{0, 0}};
    const struct headwise_dynamic dynamic = {
        .kernels = projection->kernels,
        .dot = projection->dot,
        .x = projection->x + work->row * projection->x_stride,
        .x_stride = projection->x_stride,
        .m = work->m,
        .n = projection->k,
        .group = projection->outputs[0].matrix->group,
        .scratch = worker_scratch(projection, worker),
        .state = &state,
    };
    int64_t step = headwise_dynamic_inputs(&dynamic);
    work->dynamic = &dynamic;
    do { /* once without inputs: the bias */
        slice->first = slice->end;
        slice->end = headwise_min(slice->first + step, projection->k);
        round_inputs(work, worker);
        run_panels(work, first, last);
    } while (slice->end < projection->k);
    headwise_dynamic_end(&dynamic);
}

void headwise_projection_part(const struct headwise_projection *projection, int64_t row, int64_t m,
                              int64_t first, int64_t last, int worker) {
    struct slice slice = {.end = 0};
    struct work work = {projection, row, m, &slice, NULL};
    if (rounds_inputs(projection)) {
        run_dynamic(&work, &slice, first, last, worker);
        return;
    }
    do {
        slice = take_slice(projection, row, m, slice.end, worker);
        run_panels(&work, first, last);
    } while (slice.end < projection->k);
}

/* Task index: a group of panels of a block of rows. Blocks come rows_at_once together, one after
 * the other for each group. */
void headwise_projection_run(const struct headwise_projection *projection, int64_t index,
                             int worker) {
    int64_t groups = projection->panel_groups, n_panels = projection->n_panels;
    int64_t block = index / (projection->rows_at_once * groups) * projection->rows_at_once;
    int64_t blocks = headwise_min(projection->rows_at_once, projection->row_blocks - block);
    index -= block * groups;
    int64_t group = index / blocks;
    int64_t row = (block + index % blocks) * projection->block_rows;
    int64_t m = headwise_min(projection->block_rows, projection->m - row);
    headwise_projection_part(projection, row, m, group * n_panels / groups,
                             (group + 1) * n_panels / groups, worker);
}
