/* Gathers statistics of rows block by block, and writes them out. */
#include "attention/statistics.h"

#include <math.h>
#include <string.h>

#include "attention/probe.h"
#include "attention/visibility.h"
#include "base/alloc.h"

static struct headwise_row_state *row_states(const struct headwise_tile *tile) {
    return (struct headwise_row_state *)(void *)(tile->worker + tile->plan->at_stats);
}

/* Of the rows that meet a block together. */
static struct headwise_row_state *block_states(const struct headwise_tile *tile) {
    return (struct headwise_row_state *)(void *)(tile->worker + tile->plan->at_block_stats);
}

void headwise_stats_begin(const struct headwise_tile *tile) {
    struct headwise_row_state *states = row_states(tile);
    for (int64_t r = 0; r < tile->n_rows; r++)
        states[r] = (struct headwise_row_state){.strongest = -1, .strongest_score = -INFINITY};
}

/* The numerator of the key at that distance from the query, 0 where the block does not hold it. */
static float numerator_at(const float *numerators, int64_t first, int64_t n, int64_t distance) {
    int64_t j = distance - first;
    return j >= 0 && j < n ? numerators[j] : 0.0f;
}

/* (score - max) of every numerator drops by the rise of max; the numerators shrink by factor. Where
 * nothing is left of them the rise may be infinite. */
static float shifted_entropy(float entropy, float mass, float old_max, float new_max,
                             float factor) {
    return mass == 0.0f || factor == 0.0f ? 0.0f : factor * (entropy + mass * (old_max - new_max));
}

/* A block's own sums, relative to its own max. */
static struct headwise_row_state block_state(const struct headwise_tile *tile, int64_t row,
                                             const float *numerators, const float *raw,
                                             int64_t first_key, int64_t n, float max, float sum) {
    const struct headwise_plan *plan = tile->plan;
    int64_t first =
        headwise_distance(plan->call, tile->batch, headwise_tile_query(tile, row), first_key);
    struct headwise_row_state state = {
        .mass = sum,
        .self = numerator_at(numerators, first, n, 0),
        .previous = numerator_at(numerators, first, n, -1),
        .next = numerator_at(numerators, first, n, 1),
        .first = first_key == 0 ? numerators[0] : 0.0f,
        .strongest_score = max,
    };
    float strongest;
    plan->kernels->row_stats(&state.entropy, &state.distance, &strongest, numerators, raw, n, max,
                             (float)first);
    state.strongest = max > -INFINITY ? first_key + (int64_t)strongest : -1;
    return state;
}

static void join_states(struct headwise_row_state *state, const struct headwise_row_state *block,
                        float old_max, float new_max, float alpha, float beta) {
    state->entropy =
        shifted_entropy(state->entropy, state->mass, old_max, new_max, alpha) +
        shifted_entropy(block->entropy, block->mass, block->strongest_score, new_max, beta);
    state->mass = state->mass * alpha + block->mass * beta;
    state->distance = state->distance * alpha + block->distance * beta;
    state->self = state->self * alpha + block->self * beta;
    state->previous = state->previous * alpha + block->previous * beta;
    state->next = state->next * alpha + block->next * beta;
    state->first = state->first * alpha + block->first * beta;
    if (block->strongest_score > state->strongest_score) {
        state->strongest = block->strongest;
        state->strongest_score = block->strongest_score;
    }
}

void headwise_stats_softmax(const struct headwise_tile *tile, int64_t block, float *scores,
                            int64_t r0, int64_t r1, int64_t x0, int64_t x1) {
    const struct headwise_plan *plan = tile->plan;
    float *raw = tile->worker + plan->at_raw;
    float *max = tile->worker + plan->at_block_max, *sum = tile->worker + plan->at_block_sum;
    struct headwise_row_state *found = block_states(tile);
    size_t bytes = (size_t)(headwise_round_up(x1, HEADWISE_SUM_LANES) - x0) * sizeof(float);
    memcpy(tile->worker + plan->at_old_max, tile->max + r0, (size_t)(r1 - r0) * sizeof(float));
    for (int64_t first = 0; first < r1 - r0; first += HEADWISE_STATS_ROWS) {
        int64_t n = headwise_min(HEADWISE_STATS_ROWS, r1 - r0 - first);
        float *rows = scores + first * HEADWISE_SCORE_STRIDE + x0;
        for (int64_t i = 0; i < n; i++) {
            float *row = raw + i * HEADWISE_SCORE_STRIDE;
            memcpy(row, rows + i * HEADWISE_SCORE_STRIDE, bytes);
            for (int64_t x = x1; x % HEADWISE_SUM_LANES != 0; x++)
                row[x - x0] = 0.0f;
        }
        plan->kernels->softmax(rows, HEADWISE_SCORE_STRIDE, n, x1 - x0, max + first, sum + first);
        for (int64_t i = 0; i < n; i++)
            found[first + i] =
                block_state(tile, r0 + first + i, rows + i * HEADWISE_SCORE_STRIDE,
                            raw + i * HEADWISE_SCORE_STRIDE, block * HEADWISE_KEY_BLOCK + x0,
                            x1 - x0, max[first + i], sum[first + i]);
    }
}

void headwise_stats_join(const struct headwise_tile *tile, int64_t r0, int64_t r1) {
    const struct headwise_plan *plan = tile->plan;
    const float *alpha = tile->worker + plan->at_alpha, *beta = tile->worker + plan->at_beta;
    const float *old_max = tile->worker + plan->at_old_max;
    const struct headwise_row_state *found = block_states(tile);
    struct headwise_row_state *states = row_states(tile);
    for (int64_t i = 0; i < r1 - r0; i++) {
        /* A first block keeps its numbers: the sums below would give the same. */
        if (states[r0 + i].mass == 0.0f && beta[i] == 1.0f)
            states[r0 + i] = found[i];
        else
            join_states(&states[r0 + i], &found[i], old_max[i], tile->max[r0 + i], alpha[i],
                        beta[i]);
    }
}

static void put(float *array, int64_t at, float value) {
    if (array)
        array[at] = headwise_one_nan(value);
}

static void finish_row(const struct headwise_tile *tile, int64_t row, float inverse,
                       float log_sum) {
    const struct headwise_call *call = tile->plan->call;
    const struct headwise_kernels *kernels = tile->plan->kernels;
    const struct headwise_statistics *wanted = &call->statistics;
    const struct headwise_row_state *state = &row_states(tile)[row];
    int64_t at = headwise_probe_row(call, tile->batch, headwise_tile_head(tile, row),
                                    headwise_tile_query(tile, row));
    float max = tile->max[row];
    bool sees = state->mass != 0.0f;
    /* -sum w ln w with ln w = (score - max) - log(sum). */
    float entropy = sees ? (state->mass * log_sum - state->entropy) * inverse : 0.0f;
    put(wanted->entropy, at, entropy < 0.0f ? 0.0f : entropy);
    float largest = sees ? inverse : 0.0f; /* exp(0) / sum, where no sink raises the max */
    if (sees && state->strongest_score != max)
        kernels->factors(&largest, &state->strongest_score, max, inverse, 1);
    put(wanted->largest, at, largest);
    put(wanted->mean_distance, at, state->distance * inverse);
    put(wanted->self_weight, at, state->self * inverse);
    put(wanted->previous_weight, at, state->previous * inverse);
    put(wanted->next_weight, at, state->next * inverse);
    put(wanted->first_weight, at, state->first * inverse);
    if (wanted->strongest)
        wanted->strongest[at] = state->strongest;
}

/* log(sum) by itself: as log-sum-exp minus max it would drown in a large max. */
void headwise_stats_finish(const struct headwise_tile *tile, float *inverse) {
    const struct headwise_plan *plan = tile->plan;
    float *logs = tile->worker + plan->at_logs, *zeros = logs + plan->max_rows;
    memset(zeros, 0, (size_t)tile->n_rows * sizeof(float));
    plan->kernels->finish(inverse, logs, zeros, tile->sum, tile->n_rows);
    for (int64_t r = 0; r < tile->n_rows; r++)
        finish_row(tile, r, inverse[r], logs[r]);
}
