#include "stats.h"

#include <math.h>

#include "mask.h"

static struct headwise_row_state *row_states(const struct headwise_tile *tile) {
    return (struct headwise_row_state *)(void *)(tile->worker + tile->plan->at_stats);
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

/* (score - max) of every numerator drops by the rise of max; the numerators shrink by factor. */
static float shifted_entropy(float entropy, float mass, float old_max, float new_max,
                             float factor) {
    return mass == 0.0f ? 0.0f : factor * (entropy + mass * (old_max - new_max));
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

void headwise_stats_add(const struct headwise_tile *tile, int64_t block, const float *numerators,
                        const float *raw, const float *block_max, const float *block_sum,
                        const float *old_max, int64_t r0, int64_t r1, int64_t x0, int64_t x1) {
    const struct headwise_plan *plan = tile->plan;
    struct headwise_row_state *states = row_states(tile);
    const float *alpha = tile->worker + plan->at_alpha, *beta = tile->worker + plan->at_beta;
    for (int64_t r = r0; r < r1; r++) {
        int64_t i = r - r0, at = i * HEADWISE_SCORE_STRIDE + x0;
        struct headwise_row_state state =
            block_state(tile, r, numerators + at, raw + at, block * HEADWISE_KEY_BLOCK + x0,
                        x1 - x0, block_max[i], block_sum[i]);
        join_states(&states[r], &state, old_max[i], tile->max[r], alpha[i], beta[i]);
    }
}

static void put(float *array, int64_t at, float value) {
    if (array)
        array[at] = value;
}

void headwise_stats_finish(const struct headwise_tile *tile, int64_t row, float max, float inverse,
                           float lse) {
    const struct headwise_call *call = tile->plan->call;
    const struct headwise_kernels *kernels = tile->plan->kernels;
    const struct headwise_statistics *wanted = &call->statistics;
    const struct headwise_row_state *state = &row_states(tile)[row];
    int64_t at = (tile->batch * call->n_heads + headwise_tile_head(tile, row)) * call->n_queries +
                 headwise_tile_query(tile, row);
    bool sees = state->mass != 0.0f;
    /* -sum w ln w with ln w = score - lse, score = max + (score - max). */
    float entropy = sees ? (state->mass * (lse - max) - state->entropy) * inverse : 0.0f;
    put(wanted->entropy, at, entropy < 0.0f ? 0.0f : entropy);
    float largest = 0.0f; /* 1 / sum where no sink raises the max */
    if (sees)
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
