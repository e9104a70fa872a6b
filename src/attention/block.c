/* One pass of a tile's rows over one block of keys: scores, masks, softmax, values. */
#include "attention/block.h"

#include <math.h>
#include <string.h>

#include "attention/key_rows.h"
#include "attention/mask.h"
#include "attention/probe.h"
#include "attention/statistics.h"
#include "attention/visibility.h"
#include "base/alloc.h"
#include "kernels/panel.h"
#include "tensors/rows.h"

/* Positions in the block that rows r0 ... r1-1 see, as far as that follows from positions alone. */
static struct headwise_span rows_span(const struct headwise_block *block, int64_t r0, int64_t r1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_call *call = tile->plan->call;
    return headwise_block_span(call, tile->batch, headwise_tile_query(tile, r0),
                               headwise_tile_query(tile, r1 - 1) + 1, block->first_key,
                               block->n_keys);
}

/* Scores of few rows for keys where they lie. */
static void score_key_rows(const struct headwise_block *block, float *scores, int64_t r0,
                           int64_t r1, int64_t x0, int64_t x1) {
    const struct headwise_plan *plan = block->tile->plan;
    const float *queries = block->tile->worker + plan->at_queries + r0 * plan->q_stride;
    const struct headwise_key_source source = headwise_tile_keys(block->tile);
    for (int64_t c = x0; c < x1;) {
        struct headwise_f32_rows keys = headwise_key_rows(&source, block->first_key + c, x1 - c);
        const struct headwise_columns columns = {.data = keys.data, .row_stride = keys.stride};
        headwise_probe_fetch(block->tile, block->index, r0, r1, c, c + keys.n);
        plan->kernels->scores_in_place(scores + c, HEADWISE_SCORE_STRIDE, queries, plan->q_stride,
                                       1, &columns, r1 - r0, keys.n, plan->call->head_dim,
                                       plan->call->scale);
        c += keys.n;
    }
}

/* Scores of rows r0 ... r1-1 for positions x0 ... x1-1, x0 a multiple of SUM_LANES. */
static void compute_scores(struct headwise_block *block, float *scores, int64_t r0, int64_t r1,
                           int64_t x0, int64_t x1) {
    const struct headwise_plan *plan = block->tile->plan;
    const struct headwise_kernels *kernels = plan->kernels;
    const float *queries = block->tile->worker + plan->at_queries + r0 * plan->q_stride;
    if (headwise_block_takes_key_rows(block)) {
        score_key_rows(block, scores, r0, r1, x0, x1);
        return;
    }
    for (int64_t c = x0 / kernels->nr * kernels->nr, n; c < x1; c += n) {
        n = headwise_block_key_width(block, c, x1);
        struct headwise_panels keys = headwise_block_keys(block, c, n);
        headwise_probe_fetch(block->tile, block->index, r0, r1, c, headwise_min(c + n, x1));
        kernels->scores[keys.dtype](scores + c, HEADWISE_SCORE_STRIDE, queries, plan->q_stride,
                                    headwise_tile_row_panel(block->tile), &keys.columns, r1 - r0, n,
                                    plan->call->head_dim, plan->call->scale);
    }
}

/* The row of scores that a tile's row is. */
static struct headwise_score_row score_row(const struct headwise_tile *tile, int64_t row,
                                           float *buffer) {
    return (struct headwise_score_row){.call = tile->plan->call,
                                       .kernels = tile->plan->kernels,
                                       .batch = tile->batch,
                                       .head = headwise_tile_head(tile, row),
                                       .query = headwise_tile_query(tile, row),
                                       .buffer = buffer};
}

/* Softcap, masks and rounding of one row of scores at positions x0 ... x1-1. */
static void shape_row(struct headwise_block *block, float *s, int64_t row, int64_t x0, int64_t x1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_call *call = tile->plan->call;
    const struct headwise_kernels *kernels = tile->plan->kernels;
    float *buffer = tile->worker + tile->plan->at_row;
    const struct headwise_score_row scores = score_row(tile, row, buffer);
    int64_t first = block->first_key + x0, n = x1 - x0;
    int64_t b = tile->batch, h = scores.head, i = scores.query;
    headwise_probe_scores(call, HEADWISE_SCORES_SCALED, s, b, h, i, first, n);
    if (call->options.softcap > 0.0f)
        kernels->softcap(s, call->options.softcap, 1.0f / call->options.softcap, n);
    headwise_probe_scores(call, HEADWISE_SCORES_CAPPED, s, b, h, i, first, n);
    headwise_mask_row(&scores, s, first, n);
    headwise_probe_scores(call, HEADWISE_SCORES_MASKED, s, b, h, i, first, n);
    headwise_round_row(kernels, call->options.softmax_precision, s, n, buffer); /* of the softmax */
}

/* Whether a key at positions x0 ... x1-1 may be hidden from a row of r0 ... r1-1. A bias of -inf
 * hides, too. */
static bool hides_keys(const struct headwise_block *block, int64_t r0, int64_t r1, int64_t x0,
                       int64_t x1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_call *call = tile->plan->call;
    return call->mask.data || headwise_has_bias(call) ||
           !headwise_all_visible(call, tile->batch, headwise_tile_query(tile, r0),
                                 headwise_tile_query(tile, r1 - 1) + 1, block->first_key + x0,
                                 x1 - x0);
}

/* Whether any row of r0 ... r1-1 needs shape_row at positions x0 ... x1-1. */
static bool needs_shape(const struct headwise_block *block, int64_t r0, int64_t r1, int64_t x0,
                        int64_t x1) {
    const struct headwise_call *call = block->tile->plan->call;
    return call->options.softcap > 0.0f || call->probe.scores ||
           call->options.softmax_precision != HEADWISE_F32 || hides_keys(block, r0, r1, x0, x1);
}

/* values of one row where a value of the block is not finite: hidden values must not be multiplied
 * by their weight of 0, so the row meets a copy in which they are 0. */
static void clean_values(struct headwise_block *block, float *clean, int64_t row, int64_t x0,
                         int64_t x1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    float *visible = tile->worker + plan->at_row;
    const struct headwise_score_row scores = score_row(tile, row, visible + HEADWISE_SCORE_STRIDE);
    memset(visible, 0, (size_t)(x1 - x0) * sizeof(float));
    headwise_mask_row(&scores, visible, block->first_key + x0, x1 - x0);
    for (int64_t c = 0; c < call->value_dim; c += plan->kernels->nr) {
        int n = headwise_panel_width(plan->kernels, call->value_dim, c);
        for (int64_t t = x0; t < x1; t++) {
            int64_t at = HEADWISE_KEY_BLOCK * c + t * n;
            if (visible[t - x0] == -INFINITY)
                memset(clean + at, 0, (size_t)n * sizeof(float));
            else
                memcpy(clean + at, block->values + at, (size_t)n * sizeof(float));
        }
    }
}

/* Rows r0 ... r1-1 of a pass that begins at row `pass`. clean: whole panels to use in the place of
 * the block's, or NULL. */
static void add_values(struct headwise_block *block, const float *clean, const float *scores,
                       int64_t r0, int64_t r1, int64_t pass, int64_t x0, int64_t x1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_kernels *kernels = plan->kernels;
    const float *alpha = tile->worker + plan->at_alpha + (r0 - pass);
    const float *beta = tile->worker + plan->at_beta + (r0 - pass);
    const float *weights = scores + (r0 - pass) * HEADWISE_SCORE_STRIDE + x0;
    for (int64_t c = 0, n; c < plan->call->value_dim; c += n) {
        n = headwise_whole_panels(kernels, plan->call->value_dim, c);
        struct headwise_panels values = clean ? headwise_value_panels(kernels, clean, c, n, x0)
                                              : headwise_block_values(block, c, n, x0);
        kernels->values[values.dtype](tile->output + r0 * plan->o_stride + c, plan->o_stride,
                                      weights, HEADWISE_SCORE_STRIDE, &values.columns, r1 - r0, n,
                                      x1 - x0, alpha, beta);
    }
}

void headwise_block_pass(struct headwise_block *block, int64_t r0, int64_t r1) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_plan *plan = tile->plan;
    float *scores = tile->worker + plan->at_scores;
    struct headwise_span span =
        block->all_scores ? (struct headwise_span){0, block->n_keys} : rows_span(block, r0, r1);
    if (span.lo >= span.hi) {
        headwise_probe_unseen(tile, block->index, r0, r1, 0, 0);
        return;
    }
    int64_t x0 = span.lo / HEADWISE_SUM_LANES * HEADWISE_SUM_LANES, x1 = span.hi;
    headwise_probe_unseen(tile, block->index, r0, r1, x0, x1);
    compute_scores(block, scores, r0, r1, x0, x1);
    if (needs_shape(block, r0, r1, x0, x1)) {
        for (int64_t r = r0; r < r1; r++)
            shape_row(block, scores + (r - r0) * HEADWISE_SCORE_STRIDE + x0, r, x0, x1);
    }
    float *block_max = tile->worker + plan->at_block_max;
    float *block_sum = tile->worker + plan->at_block_sum;
    if (plan->call->probe.statistics)
        headwise_stats_softmax(tile, block->index, scores, r0, r1, x0, x1);
    else
        plan->kernels->softmax(scores + x0, HEADWISE_SCORE_STRIDE, r1 - r0, x1 - x0, block_max,
                               block_sum);
    if (plan->keeps_weights)
        headwise_probe_numerators(tile, block->index, scores, block_max, r0, r1, x0, x1);
    plan->kernels->merge(tile->worker + plan->at_alpha, tile->worker + plan->at_beta,
                         tile->max + r0, tile->sum + r0, block_max, block_sum, r1 - r0);
    if (plan->call->probe.statistics)
        headwise_stats_join(tile, r0, r1);
    x0 = headwise_max(x0, block->lo);
    x1 = headwise_min(x1, block->hi);
    headwise_block_fetch_values(block, hides_keys(block, r0, r1, x0, x1));
    if (block->values_finite) {
        add_values(block, NULL, scores, r0, r1, r0, x0, x1);
        return;
    }
    float *clean = tile->worker + plan->at_clean;
    for (int64_t r = r0; r < r1; r++) {
        clean_values(block, clean, r, x0, x1);
        add_values(block, clean, scores, r, r + 1, r0, x0, x1);
    }
}

bool headwise_block_open(struct headwise_block *block, const struct headwise_tile *tile,
                         int64_t index) {
    const struct headwise_plan *plan = tile->plan;
    int64_t first_key = index * HEADWISE_KEY_BLOCK;
    *block = (struct headwise_block){
        .tile = tile,
        .index = index,
        .first_key = first_key,
        .n_keys = headwise_min(HEADWISE_KEY_BLOCK,
                               headwise_call_keys(plan->call, tile->batch) - first_key),
        .all_scores = headwise_wants_hidden_scores(plan->call),
        .streams = tile->n_rows <= plan->few_rows,
    };
    struct headwise_span span = rows_span(block, 0, tile->n_rows);
    if (block->all_scores)
        span = (struct headwise_span){0, block->n_keys};
    if (span.lo >= span.hi) {
        headwise_probe_unseen(tile, index, 0, tile->n_rows, 0, 0);
        return false;
    }
    block->lo = span.lo;
    block->hi = span.hi;
    return true;
}
