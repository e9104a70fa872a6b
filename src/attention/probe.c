/* Writes out weights and scores, where the caller asked to see them. */
#include "attention/probe.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Of a cache line. */
enum { LINE_FLOATS = 16 };

/* Row (b, h, i) of a contiguous [B][H][S][columns] array. */
static float *output_row(const struct headwise_call *call, float *array, int64_t b, int64_t h,
                         int64_t i, int64_t columns) {
    return array + ((b * call->n_heads + h) * call->n_queries + i) * columns;
}

/* Where the numerators of a row are kept until they are weights. */
static float *weights_row(const struct headwise_tile *tile, int64_t row) {
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    float *array = call->probe.weights;
    if (!array && call->probe.scores && call->probe.score_stage == HEADWISE_SCORES_WEIGHTS)
        array = call->probe.scores;
    if (!array)
        return tile->worker + plan->at_weights + row * call->n_keys;
    return output_row(call, array, tile->batch, headwise_tile_head(tile, row),
                      headwise_tile_query(tile, row), call->n_keys);
}

static void fill(float *dst, float value, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        dst[j] = value;
}

void headwise_probe_begin(const struct headwise_tile *tile) {
    if (tile->maxima)
        fill(tile->maxima, -INFINITY, tile->n_rows * tile->plan->n_blocks);
}

/* Positions of n that are not in x0 ... x1-1. */
static void fill_outside(float *dst, float value, int64_t x0, int64_t x1, int64_t n) {
    fill(dst, value, x0);
    fill(dst + x1, value, n - x1);
}

void headwise_probe_unseen(const struct headwise_tile *tile, int64_t block, int64_t r0, int64_t r1,
                           int64_t x0, int64_t x1) {
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    int64_t first = block * HEADWISE_KEY_BLOCK;
    int64_t n = headwise_min(HEADWISE_KEY_BLOCK, call->n_keys - first);
    bool scores = call->probe.scores && call->probe.score_stage <= HEADWISE_SCORES_MASKED;
    if (x0 == 0 && x1 == n)
        return;
    for (int64_t r = r0; r < r1; r++) {
        if (plan->keeps_weights)
            fill_outside(weights_row(tile, r) + first, 0.0f, x0, x1, n);
        if (scores)
            fill_outside(output_row(call, call->probe.scores, tile->batch,
                                    headwise_tile_head(tile, r), headwise_tile_query(tile, r),
                                    call->n_keys) +
                             first,
                         -INFINITY, x0, x1, n);
    }
}

void headwise_probe_fetch(const struct headwise_tile *tile, int64_t block, int64_t r0, int64_t r1,
                          int64_t x0, int64_t x1) {
    if (!tile->plan->keeps_weights)
        return;
    for (int64_t r = r0; r < r1; r++) {
        const float *row = weights_row(tile, r) + block * HEADWISE_KEY_BLOCK;
        for (int64_t x = x0; x < x1; x += LINE_FLOATS)
            __builtin_prefetch(row + x, 1, 2);
    }
}

void headwise_probe_scores(const struct headwise_call *call, enum headwise_score_stage stage,
                           const float *s, int64_t b, int64_t h, int64_t i, int64_t first,
                           int64_t n) {
    if (call->probe.scores && call->probe.score_stage == stage)
        memcpy(output_row(call, call->probe.scores, b, h, i, call->n_keys) + first, s,
               (size_t)n * sizeof(float));
}

void headwise_probe_numerators(const struct headwise_tile *tile, int64_t block, const float *scores,
                               const float *block_max, int64_t r0, int64_t r1, int64_t x0,
                               int64_t x1) {
    for (int64_t r = r0; r < r1; r++) {
        memcpy(weights_row(tile, r) + block * HEADWISE_KEY_BLOCK + x0,
               scores + (r - r0) * HEADWISE_SCORE_STRIDE + x0, (size_t)(x1 - x0) * sizeof(float));
        if (tile->maxima)
            tile->maxima[r * tile->plan->n_blocks + block] = block_max[r - r0];
    }
}

/* mean += weights / H, the division last: heads come in increasing order, the first one sets. */
static void add_to_mean(const struct headwise_tile *tile, int64_t row, const float *weights) {
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    int64_t head = headwise_tile_head(tile, row);
    float *mean = call->probe.mean_weights +
                  (tile->batch * call->n_queries + headwise_tile_query(tile, row)) * call->n_keys;
    if (head == 0)
        memcpy(mean, weights, (size_t)call->n_keys * sizeof(float));
    else
        plan->kernels->add(mean, weights, call->n_keys);
    if (head == call->n_heads - 1)
        plan->kernels->normalize(mean, mean, 1.0f / (float)call->n_heads, 1.0f, call->n_keys);
}

void headwise_probe_finish_row(const struct headwise_tile *tile, int64_t row, const float *maxima,
                               float max, float inverse, float *factors) {
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    float *weights = weights_row(tile, row);
    plan->kernels->factors(factors, maxima, max, inverse, plan->n_blocks);
    for (int64_t block = 0; block < plan->n_blocks; block++) {
        int64_t first = block * HEADWISE_KEY_BLOCK;
        plan->kernels->normalize(weights + first, weights + first, factors[block], 1.0f,
                                 headwise_min(HEADWISE_KEY_BLOCK, call->n_keys - first));
    }
    if (call->probe.weights && call->probe.scores &&
        call->probe.score_stage == HEADWISE_SCORES_WEIGHTS)
        memcpy(output_row(call, call->probe.scores, tile->batch, headwise_tile_head(tile, row),
                          headwise_tile_query(tile, row), call->n_keys),
               weights, (size_t)call->n_keys * sizeof(float));
    if (call->probe.mean_weights)
        add_to_mean(tile, row, weights);
}
