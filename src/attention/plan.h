/* How one call is cut into tasks, and where each keeps its scratch. */
#ifndef HEADWISE_PLAN_H
#define HEADWISE_PLAN_H

#include "attention/call.h"
#include "attention/visibility.h"
#include "kernels/kernels.h"

/* Row stride of a tile of scores: a key block, and a cache line more, so that rows do not fall into
 * the same cache sets (a power of two costs 60 % of the speed of the values product). */
enum { HEADWISE_SCORE_STRIDE = HEADWISE_KEY_BLOCK + HEADWISE_SUM_LANES };

/* What is known of a row after some key blocks, relative to the tile's running max. */
struct headwise_row_state {
    float mass;                        /* sum of the numerators of keys (no sink) */
    float entropy;                     /* sum of numerator * (score - max) */
    float distance;                    /* sum of numerator * |j - p| */
    float self, previous, next, first; /* numerators of single keys */
    int64_t strongest;
    float strongest_score; /* its score: the largest of any key so far */
};

/* Rows of a pass whose statistics are taken together. */
enum { HEADWISE_STATS_ROWS = 8 };

/* A task is one batch entry, one kv head (all of them in turn where the mean over heads is wanted),
 * a tile of queries, and all key blocks that the tile meets, or one of n_splits parts of them. Its
 * rows are the pairs of query and active query head of the kv head's group, query-major: row = (i -
 * first) * n_active + a. */
struct headwise_plan {
    const struct headwise_call *call;
    const struct headwise_kernels *kernels;
    int n_threads;

    int64_t tile_queries;
    int64_t n_tiles;
    int64_t heads_per_task; /* kv heads: 1, or all */
    int64_t n_head_tasks;   /* n_kv_heads / heads_per_task */
    int64_t n_blocks;       /* key blocks of the whole call */
    int64_t n_splits; /* parts of a tile's blocks computed apart; 1: they are merged as they come */
    int64_t n_parts;  /* the most blocks that a tile can meet */
    int64_t max_rows; /* tile_queries * (largest) group */
    int64_t pass_rows; /* rows that meet a key block together */
    int64_t few_rows;  /* tiles of at most so many rows are memory-bound: nothing is kept packed */

    int64_t q_stride;      /* floats per row of packed queries */
    int64_t value_columns; /* value_dim rounded up to whole panels */
    int64_t o_stride;      /* floats per row of output state */
    bool keeps_weights;    /* numerators of every block are kept to become weights */

    /* Offsets in floats. Per worker: */
    int64_t at_keys, at_values, at_clean, at_queries, at_scores, at_output, at_max, at_sum;
    int64_t at_block_max, at_block_sum, at_alpha, at_beta, at_lse, at_inverse, at_row, at_rows;
    int64_t at_maxima, at_factors, at_weights, at_active;
    int64_t at_stats, at_block_stats, at_raw, at_old_max, at_logs; /* for statistics alone */
    int64_t worker_floats;
    /* Shared, n_splits > 1 only: what each key block of each task gave. */
    int64_t at_part_max, at_part_sum, at_part_output;
    int64_t shared_floats;
    int64_t scratch_bytes; /* of both together; -1 where it overflows */
};

/* scratch is set before the phases run: scratch_bytes bytes. */
void headwise_plan_init(struct headwise_plan *plan, const struct headwise_call *call,
                        const struct headwise_kernels *kernels, int n_threads);

/* Makes a plan for one thread serve a call that differs from its own in having fewer queries or
 * keys. */
void headwise_plan_narrow(struct headwise_plan *plan, const struct headwise_call *call);

/* The key blocks that a tile of batch entry b meets: those in sight of its queries, so that a
 * window far into a sequence is not searched for block by block; all of them where every key has a
 * place in what the caller gets. */
struct headwise_blocks headwise_plan_blocks(const struct headwise_plan *plan, int64_t b,
                                            int64_t tile);

/* The part of n blocks that a split computes, as numbers among them: sizes differ by one at most.
 */
static inline struct headwise_span headwise_plan_split(const struct headwise_plan *plan, int64_t n,
                                                       int64_t split) {
    return (struct headwise_span){n * split / plan->n_splits, n * (split + 1) / plan->n_splits};
}

/* Whether the whole call is too small to wake other threads for. */
bool headwise_plan_is_tiny(const struct headwise_plan *plan);

#endif
