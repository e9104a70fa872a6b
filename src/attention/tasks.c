/* The tasks of one call: each carries one tile, or a part of its key blocks, to its output. */
#include "attention/tasks.h"

#include <string.h>

#include "attention/block.h"
#include "attention/probe.h"
#include "attention/statistics.h"
#include "base/alloc.h"
#include "kernels/panel.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

/* Which tile a task works on. Later tiles come first: under a causal mask they are the longest. */
struct task {
    int64_t split, head_task, batch, tile;
    int64_t number; /* of the tile among all tiles of the call */
};

static struct task decode_task(const struct headwise_plan *plan, int64_t index, int64_t n_splits) {
    struct task task;
    task.split = index % n_splits;
    index /= n_splits;
    task.head_task = index % plan->n_head_tasks;
    index /= plan->n_head_tasks;
    task.batch = index % plan->call->batch;
    task.tile = plan->n_tiles - 1 - index / plan->call->batch;
    task.number =
        (task.tile * plan->call->batch + task.batch) * plan->n_head_tasks + task.head_task;
    return task;
}

static struct headwise_tile make_tile(const struct headwise_attention_job *job,
                                      const struct task *task, int64_t kv_head, int worker) {
    return headwise_tile_make(&job->plan, task->batch, kv_head, task->tile,
                              headwise_worker_scratch(job, worker));
}

/* Output rows of heads that were skipped are exact zeros. */
static void write_output(const struct headwise_tile *tile, int64_t head, int64_t query,
                         const float *row, float inverse, float gate) {
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    float *buffer = tile->worker + plan->at_rows;
    void *y = headwise_tensor_row(&call->y, tile->batch, head, query);
    float *normal = call->y.dtype == HEADWISE_F32 ? y : buffer;
    if (gate == 0.0f)
        memset(normal, 0, (size_t)call->value_dim * sizeof(float));
    else
        plan->kernels->normalize(normal, row, inverse, gate, call->value_dim);
    if (call->probe.head_outputs)
        memcpy(call->probe.head_outputs +
                   headwise_probe_row(call, tile->batch, head, query) * call->value_dim,
               normal, (size_t)call->value_dim * sizeof(float));
    headwise_row_from_f32(plan->kernels, y, call->y.dtype, normal, call->value_dim);
}

static void write_skipped(const struct headwise_tile *tile) {
    const struct headwise_call *call = tile->plan->call;
    int64_t first = headwise_group_start(call, tile->kv_head);
    int64_t end = headwise_group_start(call, tile->kv_head + 1);
    if (tile->n_active == end - first)
        return;
    for (int64_t h = first; h < end; h++) {
        if (headwise_head_works(call, tile->batch, h))
            continue;
        for (int64_t i = 0; i < tile->n_queries; i++)
            write_output(tile, h, tile->first_query + i, NULL, 0.0f, 0.0f);
    }
}

/* The row's block maxima: kept by row, or, with split keys, gathered from the blocks' own. */
static const float *row_maxima(const struct headwise_attention_job *job,
                               const struct headwise_tile *tile, int64_t part, int64_t row) {
    const struct headwise_plan *plan = &job->plan;
    if (tile->maxima)
        return tile->maxima + row * plan->n_blocks;
    float *gathered = tile->worker + plan->at_maxima;
    for (int64_t block = 0; block < plan->n_blocks; block++) /* the tile meets all of them */
        gathered[block] =
            job->shared[plan->at_part_max + (part * plan->n_parts + block) * plan->max_rows + row];
    return gathered;
}

/* Asks for the output row that is written OUTPUT_AHEAD rows after row r. Without, 16 heads of 512
 * queries and keys take 1 % longer. */
enum { OUTPUT_AHEAD = 4 };

static void fetch_output(const struct headwise_tile *tile, int64_t r) {
    const struct headwise_tensor *y = &tile->plan->call->y;
    r += OUTPUT_AHEAD;
    if (r >= tile->n_rows)
        return;
    const char *row = headwise_tensor_row(y, tile->batch, headwise_tile_head(tile, r),
                                          headwise_tile_query(tile, r));
    int64_t n = y->size[3] * (int64_t)headwise_dtype_size(y->dtype);
    for (int64_t i = 0; i < n; i += HEADWISE_ALIGNMENT)
        __builtin_prefetch(row + i, 1);
}

/* From the rows' final state to everything the caller gets. */
static void finish_tile(const struct headwise_attention_job *job, const struct headwise_tile *tile,
                        int64_t part) {
    const struct headwise_plan *plan = &job->plan;
    const struct headwise_call *call = plan->call;
    float *lse = tile->worker + plan->at_lse;
    float *inverse = tile->worker + plan->at_inverse;
    plan->kernels->finish(inverse, lse, tile->max, tile->sum, tile->n_rows);
    for (int64_t r = 0; r < tile->n_rows; r++) {
        int64_t head = headwise_tile_head(tile, r), query = headwise_tile_query(tile, r);
        fetch_output(tile, r);
        write_output(tile, head, query, tile->output + r * plan->o_stride, inverse[r],
                     headwise_gate(call, tile->batch, head));
        if (call->probe.lse)
            call->probe.lse[headwise_probe_row(call, tile->batch, head, query)] =
                headwise_one_nan(lse[r]);
        if (plan->keeps_weights)
            headwise_probe_finish_row(tile, r, row_maxima(job, tile, part, r), tile->max[r],
                                      inverse[r], tile->worker + plan->at_factors);
    }
    if (call->probe.statistics)
        headwise_stats_finish(tile, inverse);
}

/* All key blocks of a tile, merged as they come, for each of its kv heads. */
void headwise_attend_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    const struct headwise_plan *plan = &job->plan;
    struct task task = decode_task(plan, index, 1);
    struct headwise_blocks blocks = headwise_plan_blocks(plan, task.batch, task.tile);
    int64_t first = task.head_task * plan->heads_per_task;
    int64_t last = headwise_min(first + plan->heads_per_task, plan->call->n_kv_heads);
    for (int64_t g = first; g < last; g++) {
        struct headwise_tile tile = make_tile(job, &task, g, worker);
        write_skipped(&tile);
        if (tile.n_rows == 0)
            continue;
        headwise_tile_pack_queries(&tile);
        headwise_tile_begin(&tile);
        headwise_probe_begin(&tile);
        if (plan->call->probe.statistics)
            headwise_stats_begin(&tile);
        for (int64_t n = 0; n < headwise_blocks_count(blocks); n++) {
            struct headwise_block block;
            if (!headwise_block_open(&block, &tile, headwise_blocks_at(blocks, n)))
                continue;
            for (int64_t r = 0; r < tile.n_rows; r += plan->pass_rows)
                headwise_block_pass(&block, r, headwise_min(r + plan->pass_rows, tile.n_rows));
        }
        finish_tile(job, &tile, task.number);
    }
}

/* The state of the n-th key block that a tile meets in the shared scratch. */
static void use_part(const struct headwise_attention_job *job, struct headwise_tile *tile,
                     int64_t part, int64_t n) {
    const struct headwise_plan *plan = &job->plan;
    int64_t row = (part * plan->n_parts + n) * plan->max_rows;
    tile->max = job->shared + plan->at_part_max + row;
    tile->sum = job->shared + plan->at_part_sum + row;
    tile->output = job->shared + plan->at_part_output + row * plan->o_stride;
}

/* A part of a tile's key blocks, each left on its own for headwise_join_task. */
void headwise_split_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    const struct headwise_plan *plan = &job->plan;
    struct task task = decode_task(plan, index, plan->n_splits);
    struct headwise_tile tile = make_tile(job, &task, task.head_task, worker);
    if (tile.n_rows == 0)
        return;
    struct headwise_blocks blocks = headwise_plan_blocks(plan, task.batch, task.tile);
    struct headwise_span part =
        headwise_plan_split(plan, headwise_blocks_count(blocks), task.split);
    if (part.lo == part.hi)
        return;
    headwise_tile_pack_queries(&tile);
    for (int64_t n = part.lo; n < part.hi; n++) {
        use_part(job, &tile, task.number, n);
        headwise_tile_reset(&tile);
        struct headwise_block block;
        if (!headwise_block_open(&block, &tile, headwise_blocks_at(blocks, n)))
            continue;
        for (int64_t r = 0; r < tile.n_rows; r += plan->pass_rows)
            headwise_block_pass(&block, r, headwise_min(r + plan->pass_rows, tile.n_rows));
    }
}

/* Rows of a block's part joined to the tile's state: the same operations in the same order as when
 * one thread meets the blocks one after the other. */
static void join_part(const struct headwise_tile *tile, const struct headwise_tile *part) {
    static const float one = 1.0f;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_kernels *kernels = plan->kernels;
    float *alpha = tile->worker + plan->at_alpha, *beta = tile->worker + plan->at_beta;
    for (int64_t r0 = 0; r0 < tile->n_rows; r0 += plan->pass_rows) {
        int64_t n = headwise_min(plan->pass_rows, tile->n_rows - r0);
        kernels->merge(alpha, beta, tile->max + r0, tile->sum + r0, part->max + r0, part->sum + r0,
                       n);
        for (int64_t r = 0; r < n; r++) {
            for (int64_t c = 0, width; c < plan->value_columns; c += width) {
                width = headwise_whole_panels(kernels, plan->value_columns, c);
                int64_t at = (r0 + r) * plan->o_stride + c;
                const struct headwise_columns row = {.data = part->output + at,
                                                     .row_stride = plan->o_stride,
                                                     .panel_stride = kernels->nr};
                kernels->values[HEADWISE_F32](tile->output + at, plan->o_stride, &one, 1, &row, 1,
                                              width, 1, alpha + r, beta + r);
            }
        }
    }
}

void headwise_join_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    struct task task = decode_task(&job->plan, index, 1);
    struct headwise_tile tile = make_tile(job, &task, task.head_task, worker);
    write_skipped(&tile);
    if (tile.n_rows == 0)
        return;
    headwise_tile_begin(&tile);
    struct headwise_blocks blocks = headwise_plan_blocks(&job->plan, task.batch, task.tile);
    for (int64_t n = 0; n < headwise_blocks_count(blocks); n++) {
        struct headwise_tile part = tile;
        use_part(job, &part, task.number, n);
        join_part(&tile, &part);
    }
    finish_tile(job, &tile, task.number);
}
