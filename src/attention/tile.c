/* Makes tiles: their rows, the packed queries, the state before any key. */
#include "attention/tile.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

/* Lists the query heads of kv head g that have work; returns how many. */
static int64_t list_active(const struct headwise_call *call, int64_t b, int64_t g,
                           int64_t *active) {
    int64_t n = 0, end = headwise_group_start(call, g + 1);
    for (int64_t h = headwise_group_start(call, g); h < end; h++) {
        if (headwise_head_works(call, b, h))
            active[n++] = h;
    }
    return n;
}

struct headwise_tile headwise_tile_make(const struct headwise_plan *plan, int64_t batch,
                                        int64_t kv_head, int64_t index, float *worker) {
    const struct headwise_call *call = plan->call;
    int64_t *active = (int64_t *)(void *)(worker + plan->at_active);
    struct headwise_tile tile = {
        .plan = plan,
        .batch = batch,
        .kv_head = kv_head,
        .first_query = index * plan->tile_queries,
        .n_active = list_active(call, batch, kv_head, active),
        .active = active,
        .worker = worker,
        .output = worker + plan->at_output,
        .max = worker + plan->at_max,
        .sum = worker + plan->at_sum,
        .maxima = plan->keeps_weights && plan->n_splits == 1 ? worker + plan->at_maxima : NULL,
    };
    tile.n_queries = headwise_min(plan->tile_queries, call->n_queries - tile.first_query);
    tile.n_rows = tile.n_queries * tile.n_active;
    return tile;
}

/* Queries of rows r ... r + n - 1 as plain rows of f32. */
static void gather_queries(const struct headwise_tile *tile, float *dst, int64_t stride, int64_t r,
                           int64_t n) {
    const struct headwise_plan *plan = tile->plan;
    for (int64_t i = 0; i < n; i++)
        headwise_row_to_f32(plan->kernels, dst + i * stride, &plan->call->q, tile->batch,
                            headwise_tile_head(tile, r + i), headwise_tile_query(tile, r + i));
}

void headwise_tile_pack_queries(const struct headwise_tile *tile) {
    const struct headwise_plan *plan = tile->plan;
    float *packed = tile->worker + plan->at_queries, *rows = tile->worker + plan->at_rows;
    const struct headwise_tensor *q = &plan->call->q;
    int64_t dim = plan->call->head_dim, height = headwise_tile_row_panel(tile);
    /* Rows of one head lie q->stride[2] apart. Packed where they are, and the next asked for
     * meanwhile, they make attention of 512 queries and keys 1 to 3 % faster than by way of a copy.
     */
    if (q->dtype == HEADWISE_F32 && tile->n_active == 1 && height == plan->kernels->row_panel) {
        plan->kernels->pack_rows(
            packed, plan->q_stride,
            headwise_tensor_row(q, tile->batch, tile->active[0], tile->first_query), q->stride[2],
            tile->n_rows, dim);
        return;
    }
    if (height == 1) {
        gather_queries(tile, packed, plan->q_stride, 0, tile->n_rows);
        return;
    }
    for (int64_t r = 0; r < tile->n_rows; r += height) {
        int64_t n = headwise_min(height, tile->n_rows - r);
        gather_queries(tile, rows, dim, r, n);
        plan->kernels->pack_rows(packed + r * plan->q_stride, plan->q_stride, rows, dim, n, dim);
    }
}

void headwise_tile_reset(const struct headwise_tile *tile) {
    for (int64_t r = 0; r < tile->n_rows; r++) {
        tile->max[r] = -INFINITY;
        tile->sum[r] = 0.0f;
    }
    memset(tile->output, 0, (size_t)(tile->n_rows * tile->plan->o_stride) * sizeof(float));
}

void headwise_tile_begin(const struct headwise_tile *tile) {
    const float *sinks = tile->plan->call->options.sinks;
    headwise_tile_reset(tile);
    for (int64_t r = 0; sinks && r < tile->n_rows; r++) {
        float sink = sinks[headwise_tile_head(tile, r)];
        tile->max[r] = sink;
        tile->sum[r] = sink == -INFINITY ? 0.0f : 1.0f;
    }
}
