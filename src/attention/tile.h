/* A tile: the rows that one task computes, of some queries and the heads of one group. */
#ifndef HEADWISE_TILE_H
#define HEADWISE_TILE_H

#include "attention/plan.h"

/* The rows of one task at work, and where their state lives. */
struct headwise_tile {
    const struct headwise_plan *plan;
    int64_t batch;
    int64_t kv_head;
    int64_t first_query, n_queries;
    int64_t n_active;      /* query heads of the group that are computed */
    const int64_t *active; /* their numbers, increasing */
    int64_t n_rows;        /* n_queries * n_active */
    float *worker;         /* the worker's scratch */
    float *output;         /* [n_rows][o_stride]: weighted values so far, relative to max */
    float *max, *sum;      /* [n_rows] */
    float *maxima;         /* [n_rows][n_blocks]: each block's own max, or NULL */
};

static inline int64_t headwise_tile_query(const struct headwise_tile *tile, int64_t row) {
    return tile->first_query + row / tile->n_active;
}

static inline int64_t headwise_tile_head(const struct headwise_tile *tile, int64_t row) {
    return tile->active[row % tile->n_active];
}

/* Rows of the row panels (kernels.h) that the packed queries are: few rows are left as they are. */
static inline int headwise_tile_row_panel(const struct headwise_tile *tile) {
    return tile->n_rows > tile->plan->few_rows ? tile->plan->kernels->row_panel : 1;
}

/* The tile of batch entry batch, kv head kv_head and queries from tile_queries * index on, with the
 * scratch of one worker. */
struct headwise_tile headwise_tile_make(const struct headwise_plan *plan, int64_t batch,
                                        int64_t kv_head, int64_t index, float *worker);

/* Whether a query head has work: a gate of 0 spares it, unless its rows are asked for. */
static inline bool headwise_head_works(const struct headwise_call *call, int64_t b, int64_t h) {
    return headwise_gate(call, b, h) != 0.0f || headwise_probes_rows(call);
}

/* Packs the tile's queries, as f32, to the worker's scratch. Once per tile. */
void headwise_tile_pack_queries(const struct headwise_tile *tile);

/* Sets the state of all rows to "no key seen": max -inf, sum 0, output 0. */
void headwise_tile_reset(const struct headwise_tile *tile);

/* The state before the first key block: no key seen, or with sinks what the sink alone gives, max =
 * sink and sum = 1. Key blocks that are computed apart begin with headwise_tile_reset, so that the
 * sink counts once. */
void headwise_tile_begin(const struct headwise_tile *tile);

#endif
