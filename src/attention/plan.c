/* Cuts a call into tiles and splits, and lays out their scratch. */
#include "attention/plan.h"

#include <math.h>

#include "base/alloc.h"
#include "base/scratch.h"
#include "context/waking.h"

/* Floats of queries and output state that a task may hold: 4 MB. They pass once per key block,
 * which costs less than to pack the block again: with a quarter of this, one head of 1024 packed
 * its keys once per 128 rows and took 7 % longer. */
enum { TILE_FLOATS = 1024 * 1024 };

/* Floats of weights that a task holds while the mean over heads is formed: 4 MB. */
enum { MEAN_FLOATS = 1024 * 1024 };

/* Splitting the keys of a tile costs one output row of memory per row and key block. */
enum { SPLIT_FLOATS = 8 * 1024 * 1024 };

static int64_t rows_per_task(const struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    int64_t rows = TILE_FLOATS / (call->head_dim + call->value_dim);
    if (call->probe.mean_weights)
        rows = headwise_min(rows, MEAN_FLOATS / headwise_max(call->n_keys, 1));
    const struct headwise_block_sizes *sizes = &plan->kernels->sizes;
    return headwise_max(headwise_min(rows, sizes->tile_rows), sizes->min_tile_rows);
}

/* Tiles small enough for every thread to have work, evenly where rows cost the same. */
static int64_t count_tiles(const struct headwise_plan *plan, int64_t fewest) {
    const struct headwise_call *call = plan->call;
    int64_t others = call->batch * plan->n_head_tasks;
    int64_t threads = plan->n_threads;
    bool uneven = call->options.causal != HEADWISE_CAUSAL_NONE || call->key_lengths ||
                  (call->cache && call->batch > 1);
    int64_t enough = uneven ? 6 * threads : threads;
    int64_t most = headwise_max(fewest, headwise_ceil_div(call->n_queries * call->group,
                                                          plan->kernels->sizes.min_tile_rows));
    int64_t n = fewest;
    while (threads > 1 && n < most && others * n < 8 * threads &&
           (others * n < enough || (!uneven && others * n % threads != 0)))
        n++;
    return headwise_min(n, headwise_max(call->n_queries, 1));
}

/* A multiple of every tile's height: the pass begins at a row panel. */
static int64_t rows_per_pass(const struct headwise_plan *plan, bool keeps_weights) {
    const struct headwise_call *call = plan->call;
    const struct headwise_block_sizes *sizes = &plan->kernels->sizes;
    bool wide = call->head_dim + call->value_dim >= sizes->wide_head;
    int64_t rows = wide ? sizes->wide_pass_rows : sizes->pass_rows;
    bool slanted = call->options.causal != HEADWISE_CAUSAL_NONE || call->options.window_is_set;
    if (slanted || keeps_weights)
        rows = headwise_min(rows, sizes->few_rows * headwise_max(call->group, 1));
    return headwise_round_up(rows, plan->kernels->mr);
}

static void plan_tiles(struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    plan->heads_per_task = call->probe.mean_weights ? call->n_kv_heads : 1;
    plan->n_head_tasks =
        plan->heads_per_task > 0 ? headwise_ceil_div(call->n_kv_heads, plan->heads_per_task) : 0;
    int64_t tile = headwise_max(1, rows_per_task(plan) / headwise_max(call->group, 1));
    int64_t n = count_tiles(plan, headwise_ceil_div(call->n_queries, tile));
    plan->tile_queries = n > 0 ? headwise_ceil_div(call->n_queries, n) : 1;
    plan->n_tiles = headwise_ceil_div(call->n_queries, plan->tile_queries);
    plan->max_rows = plan->tile_queries * call->group;
    plan->few_rows =
        headwise_max(plan->kernels->sizes.few_rows / plan->kernels->mr, 1) * plan->kernels->mr;
    plan->pass_rows = rows_per_pass(plan, plan->keeps_weights);
    plan->n_blocks = headwise_ceil_div(call->n_keys, HEADWISE_KEY_BLOCK);
}

struct headwise_blocks headwise_plan_blocks(const struct headwise_plan *plan, int64_t b,
                                            int64_t tile) {
    const struct headwise_call *call = plan->call;
    int64_t first = tile * plan->tile_queries;
    if (plan->keeps_weights || call->probe.scores)
        return (struct headwise_blocks){0, 0, plan->n_blocks};
    return headwise_visible_blocks(call, b, first,
                                   headwise_min(first + plan->tile_queries, call->n_queries));
}

/* The most blocks that a tile can meet wherever its queries stand: what a call needs of scratch
 * depends on its shape and options, not on lengths and offsets. */
static int64_t most_blocks(const struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    if (plan->keeps_weights || call->probe.scores)
        return plan->n_blocks;
    struct headwise_reach reach = headwise_reach_of(call, plan->tile_queries);
    /* One key in the first block of the window, the others in the blocks after it. */
    return headwise_min(plan->n_blocks,
                        headwise_ceil_div(reach.first, HEADWISE_KEY_BLOCK) + 1 +
                            headwise_ceil_div(reach.window - 1, HEADWISE_KEY_BLOCK));
}

/* Keys are split where there are fewer tasks than threads could share evenly. */
static void plan_splits(struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    int64_t tasks = call->batch * plan->n_head_tasks * plan->n_tiles;
    int64_t part_floats = plan->max_rows * (plan->o_stride + 2);
    plan->n_splits = 1;
    plan->n_parts = most_blocks(plan);
    bool even = tasks % plan->n_threads == 0 || tasks >= 8 * plan->n_threads;
    if (plan->n_threads == 1 || even || call->probe.mean_weights || call->probe.statistics)
        return;
    if (plan->n_parts > 1 && part_floats <= SPLIT_FLOATS / tasks / plan->n_parts)
        plan->n_splits = headwise_min(plan->n_parts, headwise_ceil_div(4 * plan->n_threads, tasks));
}

static void plan_worker(struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    int64_t *total = &plan->worker_floats;
    int64_t widest = headwise_max(call->head_dim, plan->value_columns);
    /* As without weights: the same call allocates nothing when it no longer asks for them. */
    int64_t pass_rows = rows_per_pass(plan, false);
    *total = 0;
    /* Panels of an f32 cache are used where they are. */
    bool packs = !call->cache || headwise_cache_describe(call->cache)->dtype != HEADWISE_F32;
    plan->at_keys = headwise_take(total, packs ? HEADWISE_KEY_BLOCK : 0, call->head_dim);
    plan->at_values = headwise_take(total, packs ? HEADWISE_KEY_BLOCK : 0, plan->value_columns);
    plan->at_clean = headwise_take(total, HEADWISE_KEY_BLOCK, plan->value_columns);
    plan->at_queries = headwise_take(total, plan->max_rows, plan->q_stride);
    plan->at_scores = headwise_take(total, pass_rows, HEADWISE_SCORE_STRIDE);
    plan->at_output = headwise_take(total, plan->max_rows, plan->o_stride);
    plan->at_max = headwise_take(total, plan->max_rows, 1);
    plan->at_sum = headwise_take(total, plan->max_rows, 1);
    plan->at_lse = headwise_take(total, plan->max_rows, 1);
    plan->at_inverse = headwise_take(total, plan->max_rows, 1);
    plan->at_block_max = headwise_take(total, pass_rows, 1);
    plan->at_block_sum = headwise_take(total, pass_rows, 1);
    plan->at_alpha = headwise_take(total, pass_rows, 1);
    plan->at_beta = headwise_take(total, pass_rows, 1);
    plan->at_row = headwise_take(total, HEADWISE_SCORE_STRIDE, 2);
    plan->at_rows = headwise_take(total, plan->kernels->nr + 1, widest);
    int64_t maxima_rows = !plan->keeps_weights ? 0 : plan->n_splits == 1 ? plan->max_rows : 1;
    plan->at_maxima = headwise_take(total, maxima_rows, plan->n_blocks);
    plan->at_factors = headwise_take(total, plan->keeps_weights ? 1 : 0, plan->n_blocks);
    plan->at_active = headwise_take(total, call->group, sizeof(int64_t) / sizeof(float));
    bool own_weights = plan->keeps_weights && !call->probe.weights &&
                       !(call->probe.scores && call->probe.score_stage == HEADWISE_SCORES_WEIGHTS);
    plan->at_weights = headwise_take(total, own_weights ? plan->max_rows : 0, call->n_keys);
    if (call->probe.statistics) {
        plan->at_stats =
            headwise_take(total, plan->max_rows, sizeof(struct headwise_row_state) / sizeof(float));
        plan->at_block_stats =
            headwise_take(total, pass_rows, sizeof(struct headwise_row_state) / sizeof(float));
        plan->at_raw = headwise_take(total, HEADWISE_STATS_ROWS, HEADWISE_SCORE_STRIDE);
        plan->at_logs = headwise_take(total, plan->max_rows, 2);
        plan->at_old_max = headwise_take(total, pass_rows, 1);
    }
}

static void plan_shared(struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    int64_t *total = &plan->shared_floats;
    *total = 0;
    if (plan->n_splits == 1)
        return;
    int64_t parts = call->batch * plan->n_head_tasks * plan->n_tiles * plan->n_parts;
    plan->at_part_max = headwise_take(total, parts, plan->max_rows);
    plan->at_part_sum = headwise_take(total, parts, plan->max_rows);
    plan->at_part_output = headwise_take(total, parts, plan->max_rows * plan->o_stride);
}

void headwise_plan_init(struct headwise_plan *plan, const struct headwise_call *call,
                        const struct headwise_kernels *kernels, int n_threads) {
    *plan = (struct headwise_plan){.call = call, .kernels = kernels, .n_threads = n_threads};
    plan->q_stride = headwise_odd_stride(call->head_dim);
    plan->value_columns = headwise_round_up(call->value_dim, kernels->nr_min);
    plan->o_stride = headwise_odd_stride(plan->value_columns);
    plan->keeps_weights = headwise_wants_weights(call);
    plan_tiles(plan);
    plan_splits(plan);
    plan_worker(plan);
    plan_shared(plan);
    int64_t floats = plan->shared_floats;
    headwise_take(&floats, n_threads, plan->worker_floats);
    plan->scratch_bytes = headwise_float_bytes(floats);
}

void headwise_plan_narrow(struct headwise_plan *plan, const struct headwise_call *call) {
    plan->call = call;
    plan->n_tiles = headwise_ceil_div(call->n_queries, plan->tile_queries);
    plan->n_blocks = headwise_ceil_div(call->n_keys, HEADWISE_KEY_BLOCK);
}

bool headwise_plan_is_tiny(const struct headwise_plan *plan) {
    const struct headwise_call *call = plan->call;
    double keys = fmin((double)call->n_keys, (double)plan->n_parts * HEADWISE_KEY_BLOCK);
    double work = (double)call->batch * (double)call->n_heads * (double)call->n_queries * keys *
                  (double)(call->head_dim + call->value_dim);
    return headwise_is_tiny(work, HEADWISE_WAKING_ATTENTION);
}
