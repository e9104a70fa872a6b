#include "attention/attention.h"

#include <math.h>
#include <string.h>

#include "attention/block.h"
#include "attention/mask.h"
#include "attention/probe.h"
#include "attention/ragged.h"
#include "attention/statistics.h"
#include "base/alloc.h"
#include "kernels/panel.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

/* Which tile a task works on. Later tiles come first: under a causal mask they are the longest. */
struct task {
    int64_t split, head_task, batch, tile;
    int64_t part; /* number of the tile among all tiles of the call */
};

static struct task decode_task(const struct headwise_plan *plan, int64_t index, int64_t n_splits) {
    struct task task;
    task.split = index % n_splits;
    index /= n_splits;
    task.head_task = index % plan->n_head_tasks;
    index /= plan->n_head_tasks;
    task.batch = index % plan->call->batch;
    task.tile = plan->n_tiles - 1 - index / plan->call->batch;
    task.part = (task.tile * plan->call->batch + task.batch) * plan->n_head_tasks + task.head_task;
    return task;
}

static float *worker_scratch(const struct headwise_attention_job *job, int worker) {
    return job->workers + worker * job->worker_stride;
}

/* Lists the query heads of kv head g that have work; returns how many. */
static int64_t list_active(const struct headwise_call *call, int64_t b, int64_t g,
                           int64_t *active) {
    int64_t n = 0, end = headwise_group_start(call, g + 1);
    for (int64_t h = headwise_group_start(call, g); h < end; h++) {
        if (headwise_gate(call, b, h) != 0.0f || headwise_probes_rows(call))
            active[n++] = h;
    }
    return n;
}

static struct headwise_tile make_tile(const struct headwise_attention_job *job,
                                      const struct task *task, int64_t kv_head, int worker) {
    const struct headwise_plan *plan = &job->plan;
    const struct headwise_call *call = plan->call;
    float *scratch = worker_scratch(job, worker);
    int64_t *active = (int64_t *)(void *)(scratch + plan->at_active);
    struct headwise_tile tile = {
        .plan = plan,
        .batch = task->batch,
        .kv_head = kv_head,
        .first_query = task->tile * plan->tile_queries,
        .n_active = list_active(call, task->batch, kv_head, active),
        .active = active,
        .worker = scratch,
        .output = scratch + plan->at_output,
        .max = scratch + plan->at_max,
        .sum = scratch + plan->at_sum,
        .maxima = plan->keeps_weights && plan->n_splits == 1 ? scratch + plan->at_maxima : NULL,
    };
    tile.n_queries = headwise_min(plan->tile_queries, call->n_queries - tile.first_query);
    tile.n_rows = tile.n_queries * tile.n_active;
    return tile;
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
        if (headwise_gate(call, tile->batch, h) != 0.0f || headwise_probes_rows(call))
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
            call->probe.lse[headwise_probe_row(call, tile->batch, head, query)] = lse[r];
        if (plan->keeps_weights)
            headwise_probe_finish_row(tile, r, row_maxima(job, tile, part, r), tile->max[r],
                                      inverse[r], tile->worker + plan->at_factors);
    }
    if (call->probe.statistics)
        headwise_stats_finish(tile, inverse);
}

/* All key blocks of a tile, merged as they come. */
static void run_whole(const struct headwise_attention_job *job, const struct task *task,
                      int64_t kv_head, int worker) {
    struct headwise_tile tile = make_tile(job, task, kv_head, worker);
    write_skipped(&tile);
    if (tile.n_rows == 0)
        return;
    headwise_tile_pack_queries(&tile);
    headwise_tile_begin(&tile);
    headwise_probe_begin(&tile);
    if (job->plan.call->probe.statistics)
        headwise_stats_begin(&tile);
    struct headwise_blocks blocks = headwise_plan_blocks(&job->plan, task->batch, task->tile);
    for (int64_t n = 0; n < headwise_blocks_count(blocks); n++)
        headwise_block_run(&tile, headwise_blocks_at(blocks, n));
    finish_tile(job, &tile, task->part);
}

void headwise_attend_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    const struct headwise_plan *plan = &job->plan;
    struct task task = decode_task(plan, index, 1);
    int64_t first = task.head_task * plan->heads_per_task;
    int64_t last = headwise_min(first + plan->heads_per_task, plan->call->n_kv_heads);
    for (int64_t g = first; g < last; g++)
        run_whole(job, &task, g, worker);
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
        use_part(job, &tile, task.part, n);
        headwise_tile_reset(&tile);
        headwise_block_run(&tile, headwise_blocks_at(blocks, n));
    }
}

/* Rows of a block's part joined to the tile's state: the same operations in the same order as when
 * one thread meets the blocks one after the other. */
static void join_part(const struct headwise_tile *tile, const struct headwise_tile *part) {
    static const float one = 1.0f;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_kernels *kernels = plan->kernels;
    float *alpha = tile->worker + plan->at_alpha, *beta = tile->worker + plan->at_beta;
    for (int64_t r0 = 0; r0 < tile->n_rows; r0 += plan->sub_rows) {
        int64_t n = headwise_min(plan->sub_rows, tile->n_rows - r0);
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
        use_part(job, &part, task.part, n);
        join_part(&tile, &part);
    }
    finish_tile(job, &tile, task.part);
}

static void copy_rows(const struct headwise_tensor *dst, int64_t first,
                      const struct headwise_tensor *src, int64_t b, int64_t h) {
    size_t row_bytes = (size_t)src->size[3] * headwise_dtype_size(src->dtype);
    for (int64_t r = 0; r < src->size[2]; r++)
        memcpy(headwise_tensor_row(dst, b, h, first + r), headwise_tensor_row(src, b, h, r),
               row_bytes);
}

/* Past and new rows of one kv head, one after the other. */
static void present_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    const struct headwise_call *call = job->plan.call;
    int64_t b = index / call->n_kv_heads, g = index % call->n_kv_heads;
    (void)worker;
    if (call->present_key.data) {
        copy_rows(&call->present_key, 0, &call->past_key, b, g);
        copy_rows(&call->present_key, call->n_past, &call->k, b, g);
    }
    if (call->present_value.data) {
        copy_rows(&call->present_value, 0, &call->past_value, b, g);
        copy_rows(&call->present_value, call->n_past, &call->v, b, g);
    }
}

static bool is_ragged(const struct headwise_attention_job *job) {
    return job->plan.call->ragged.query_starts != NULL;
}

void headwise_attention_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                             const struct headwise_kernels *kernels, int n_threads) {
    *job = (struct headwise_attention_job){.n_threads = n_threads};
    if (call->ragged.query_starts) {
        headwise_ragged_plan(job, call, kernels);
        return;
    }
    headwise_plan_init(&job->plan, call, kernels, n_threads);
    job->worker_stride = job->plan.worker_floats;
    job->scratch_bytes = job->plan.scratch_bytes;
}

void headwise_attention_bind(struct headwise_attention_job *job, float *scratch) {
    if (is_ragged(job)) {
        headwise_ragged_bind(job, scratch);
        return;
    }
    job->shared = scratch;
    job->workers = scratch + job->plan.shared_floats;
}

int headwise_attention_phases(const struct headwise_attention_job *job,
                              struct headwise_phase *phases) {
    const struct headwise_plan *plan = &job->plan;
    const struct headwise_call *call = plan->call;
    int64_t tiles = call->batch * plan->n_head_tasks * plan->n_tiles;
    bool presents = call->present_key.data || call->present_value.data;
    void *arg = (void *)(uintptr_t)job;
    int n = 0;
    if (is_ragged(job))
        return headwise_ragged_phases(job, phases);
    if (presents)
        phases[n++] = (struct headwise_phase){call->batch * call->n_kv_heads, present_task, arg};
    if (plan->n_splits == 1) {
        phases[n++] = (struct headwise_phase){tiles, headwise_attend_task, arg};
        return n;
    }
    phases[n++] = (struct headwise_phase){tiles * plan->n_splits, headwise_split_task, arg};
    phases[n++] = (struct headwise_phase){tiles, headwise_join_task, arg};
    return n;
}

bool headwise_attention_is_tiny(const struct headwise_attention_job *job) {
    return is_ragged(job) ? headwise_ragged_is_tiny(job) : headwise_plan_is_tiny(&job->plan);
}

enum headwise_status headwise_attention_run(headwise_context *context,
                                            const struct headwise_call *call) {
    struct headwise_attention_job job;
    headwise_attention_plan(&job, call, context->kernels, context->n_threads);
    enum headwise_status status = headwise_context_grow(context, job.scratch_bytes);
    if (status != HEADWISE_OK)
        return status;
    headwise_attention_bind(&job, context->scratch);
    struct headwise_phase phases[HEADWISE_ATTENTION_PHASES];
    int n_phases = headwise_attention_phases(&job, phases);
    headwise_parallel_run(context, phases, n_phases, headwise_attention_is_tiny(&job));
    return HEADWISE_OK;
}
