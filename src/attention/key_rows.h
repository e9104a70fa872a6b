/* Rows of keys and values in the caller's tensors: past ones, then new ones. */
#ifndef HEADWISE_KEY_ROWS_H
#define HEADWISE_KEY_ROWS_H

#include "attention/tile.h"
#include "tensors/rows.h"

/* The keys, or the values, of one batch entry and kv head. */
struct headwise_key_source {
    const struct headwise_kernels *kernels;
    const struct headwise_tensor *past, *now;
    int64_t n_past, batch, head;
    float *buffer; /* nr rows */
};

static inline struct headwise_key_source headwise_tile_keys(const struct headwise_tile *tile) {
    const struct headwise_plan *plan = tile->plan;
    return (struct headwise_key_source){
        plan->kernels, &plan->call->past_key,       &plan->call->k, plan->call->n_past, tile->batch,
        tile->kv_head, tile->worker + plan->at_rows};
}

static inline struct headwise_key_source headwise_tile_values(const struct headwise_tile *tile) {
    const struct headwise_plan *plan = tile->plan;
    return (struct headwise_key_source){
        plan->kernels, &plan->call->past_value,     &plan->call->v, plan->call->n_past, tile->batch,
        tile->kv_head, tile->worker + plan->at_rows};
}

/* Rows from key number first on: at most n, at least one, fewer where the past ends or, for narrow
 * types, after nr of them. f32 rows are the caller's memory; others are widened into the buffer. */
struct headwise_f32_rows headwise_key_rows(const struct headwise_key_source *source, int64_t first,
                                           int64_t n);

/* Copies n rows, at most nr, to the buffer, past and new ones alike. */
struct headwise_f32_rows headwise_gather_rows(const struct headwise_key_source *source,
                                              int64_t first, int64_t n);

#endif
