/* Cuts calls of linear layers and MLPs, lays them out in scratch and runs them. */
#include "linear/job.h"

#include <string.h>

#include "base/error.h"
#include "base/scratch.h"
#include "context/parallel.h"
#include "context/waking.h"

/* Floats of a block's hidden rows, 768 KB, and the fewest rows of a block. */
enum { HIDDEN_FLOATS = 192 * 1024, LEAST_TILES = 4 };

struct headwise_linear_job headwise_linear_job_of(const struct headwise_linear_call *call) {
    return (struct headwise_linear_job){
        .activation = call->activation,
        .x = call->x,
        .x_stride = call->x_stride,
        .n_rows = call->n_rows,
        .input_norm = call->input_norm,
        .output_norm = call->output_norm,
        .end = {.residual = {(float *)call->residual, call->residual_stride},
                .y = {call->y, call->y_stride},
                .sum = {call->sum, call->sum_stride},
                .norm_first = call->norm_before_residual && call->output_norm},
    };
}

/* Width of all hidden rows of one input row. */
static int64_t hidden_width(const struct headwise_linear_job *job) {
    return job->up ? job->up->n * (job->gate ? 2 : 1) : 0;
}

/* Rows that a task's are a multiple of: a tile of the kernels, or of AMX where bytes multiply. */
enum { BYTE_TILE_ROWS = 16 };

static int64_t tile_rows(const struct headwise_linear_job *job) {
    return job->down->together ? BYTE_TILE_ROWS : job->kernels->mr;
}

static int64_t most_block_rows(const struct headwise_linear_job *job) {
    int64_t most = job->kernels->sizes.project_rows, mr = job->kernels->mr;
    int64_t fit = HIDDEN_FLOATS / headwise_max(hidden_width(job), 1) / mr * mr;
    return headwise_min(most, headwise_max(fit, LEAST_TILES * mr));
}

static int64_t count_panels(const struct headwise_linear_job *job,
                            const struct headwise_matrix *matrix) {
    return headwise_ceil_div(matrix->n, job->kernels->nr);
}

/* Fewest rows for a thread of its own: below, reading the weights once for each thread costs more
 * than one phase more. */
enum { SPLIT_ROWS = 48 };

/* Whether threads share columns rather than rows: where rows are few, or do not divide evenly. On
 * two threads 256 rows (132 and 124) are 20 % faster by rows, 128 (72 and 56) no slower by
 * columns. By columns every thread rounds all rows to bytes. */
static bool is_by_columns(const struct headwise_linear_job *job, int n_threads) {
    int64_t share = headwise_round_up(headwise_ceil_div(job->n_rows, n_threads), tile_rows(job));
    bool uneven = job->n_rows < share * n_threads / 16 * 15;
    return n_threads > 1 && job->n_rows <= job->kernels->sizes.project_rows &&
           (share < SPLIT_ROWS || uneven);
}

static void cut(struct headwise_linear_job *job, int n_threads) {
    job->by_columns = is_by_columns(job, n_threads);
    if (job->by_columns) {
        job->block_rows = job->n_rows;
        if (job->up)
            job->hidden_groups = headwise_min(2 * n_threads, count_panels(job, job->up));
        job->out_groups = headwise_min(2 * n_threads, count_panels(job, job->down));
        return;
    }
    int64_t most = most_block_rows(job);
    int64_t blocks = headwise_round_up(headwise_ceil_div(job->n_rows, most), n_threads);
    job->block_rows = headwise_min(
        most, headwise_round_up(headwise_ceil_div(job->n_rows, blocks), tile_rows(job)));
}

/* Whether products can go to y: whole panels, and nothing that is read later lies there. */
static bool is_direct(const struct headwise_linear_job *job) {
    const float *y = job->end.y.data;
    return job->end.n % job->kernels->nr_min == 0 && y != job->end.residual.data &&
           (job->up || y != job->x);
}

/* Whether a row ends when all its columns are there: for a norm, or because what it writes is what
 * columns are made from. */
static bool ends_apart(const struct headwise_linear_job *job) {
    bool over_x = !job->up && (job->end.y.data == job->x || job->end.sum.data == job->x);
    return job->output_norm || over_x;
}

static void take_place(struct headwise_linear_place *place, int64_t *total, int64_t rows, int64_t n,
                       int64_t copies) {
    place->stride = headwise_odd_stride(n);
    place->worker_floats = copies > 1 ? rows * place->stride : 0;
    place->at = headwise_take(total, headwise_mul(&rows, rows, copies) ? rows : -1, place->stride);
}

static int64_t padded(const struct headwise_linear_job *job, const struct headwise_matrix *matrix) {
    return headwise_matrix_padded(job->kernels, matrix->n);
}

/* Where what is not rows lies, in floats. */
struct offsets {
    int64_t products, held, shares, input_weights, output_weights, total;
};

static struct offsets map_scratch(struct headwise_linear_job *job, int n_threads) {
    struct offsets at = {0};
    int64_t rows = job->block_rows, copies = job->by_columns ? 1 : n_threads;
    int64_t k = job->up ? job->up->k : job->down->k;
    at.products = headwise_take(&at.total, n_threads, headwise_projection_floats(job->kernels));
    at.held = headwise_take(&at.total, n_threads, sizeof(struct headwise_held) / sizeof(float));
    at.shares =
        headwise_take(&at.total, n_threads, sizeof(struct headwise_linear_share) / sizeof(float));
    at.input_weights = headwise_take(&at.total, 1, headwise_norm_floats(job->input_norm, k));
    at.output_weights =
        headwise_take(&at.total, 1, headwise_norm_floats(job->output_norm, job->end.n));
    if (job->input_norm)
        take_place(&job->normed, &at.total, rows, k, n_threads);
    if (job->up)
        take_place(&job->hidden, &at.total, rows, padded(job, job->up), copies);
    if (job->gate)
        take_place(&job->gates, &at.total, rows, padded(job, job->gate), copies);
    if (!job->direct)
        take_place(&job->out, &at.total, rows, padded(job, job->down), copies);
    return at;
}

static void bind(struct headwise_linear_job *job, const struct offsets *at, float *scratch,
                 int n_threads) {
    struct headwise_linear_place *places[] = {&job->normed, &job->hidden, &job->gates, &job->out};
    int64_t k = job->up ? job->up->k : job->down->k;
    for (int i = 0; i < 4; i++)
        places[i]->data = scratch + places[i]->at;
    job->product_scratch = scratch + at->products;
    job->held = (struct headwise_held *)(void *)(scratch + at->held);
    job->shares = (struct headwise_linear_share *)(void *)(scratch + at->shares);
    memset(job->held, 0, (size_t)n_threads * sizeof *job->held);
    memset(job->shares, 0, (size_t)n_threads * sizeof *job->shares);
    job->input =
        headwise_norm_prepare(job->input_norm, job->kernels, k, scratch + at->input_weights);
    job->end.norm = headwise_norm_prepare(job->output_norm, job->kernels, job->end.n,
                                          scratch + at->output_weights);
}

static bool is_tiny(const struct headwise_linear_job *job) {
    double weights = (double)job->down->k * (double)job->down->n;
    if (job->up)
        weights += (double)job->up->k * (double)hidden_width(job);
    return headwise_is_tiny(weights * (double)job->n_rows, HEADWISE_WAKING_PROJECTION);
}

enum headwise_status headwise_linear_job_run(headwise_context *context,
                                             struct headwise_linear_job *job) {
    int n_threads = context->n_threads;
    if (job->n_rows == 0)
        return HEADWISE_OK;
    job->kernels = context->kernels;
    job->dot = context->dot;
    job->end.kernels = context->kernels;
    job->end.n = job->down->n;
    bool tiny = is_tiny(job);
    cut(job, tiny ? 1 : n_threads);
    job->direct = is_direct(job);
    job->ends_apart = ends_apart(job);
    struct offsets at = map_scratch(job, n_threads);
    TRY(headwise_context_begin(context, headwise_float_bytes(at.total)));
    bind(job, &at, context->scratch, n_threads);
    struct headwise_phase phases[HEADWISE_MAX_PHASES];
    int n_phases = headwise_linear_job_phases(job, phases);
    enum headwise_status status = headwise_parallel_run(context, phases, n_phases, tiny);
    headwise_context_end(context);
    return status;
}
