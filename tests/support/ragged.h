/* Ragged calls in guarded memory, and each of their sequences as a call of its own. */
#ifndef TESTS_RAGGED_H
#define TESTS_RAGGED_H

#include "call.h"

enum { RAGGED_MOST = 12 };

/* A call whose tensors hold the rows of all sequences, and some that belong to none. */
struct ragged_call {
    struct call call; /* batch 1, queries and keys: all rows */
    struct headwise_statistics statistics;
    int32_t query_starts[RAGGED_MOST + 1], key_starts[RAGGED_MOST + 1];
    int64_t n; /* sequences */
};

/* Tensors of one type for n sequences of these lengths, random; rows of no sequence (before, after)
 * hold NaN. shape's batch, queries and keys are filled in. packed: (rows, heads, columns) in
 * memory, as flash-attention has it. */
struct ragged_call ragged_make(struct test_rng *rng, struct call_shape shape,
                               enum headwise_dtype dtype, int64_t n, const int64_t *queries,
                               const int64_t *keys, bool packed);

/* New guarded outputs: those of call_wants, and statistics of every kind. */
void ragged_probe(struct ragged_call *ragged, unsigned wants, bool statistics,
                  enum headwise_score_stage stage);

/* y and the outputs that the call already has, anew. */
void ragged_new_outputs(struct ragged_call *ragged);

/* What the library takes: it points into *ragged. */
struct headwise_attention_call ragged_arguments(struct ragged_call *ragged);

/* The call must succeed. */
void ragged_run_with(headwise_context *context, struct ragged_call *ragged);

/* Runs the call over a cache (f32) that got all keys; its sequences are in another order, beside
 * one that is not named. Options must say where queries stand as over a cache: the last ones. The
 * call must succeed. */
void ragged_run_cached(headwise_context *context, struct ragged_call *ragged);

/* Sequence b alone: views of its inputs, outputs of its own. */
struct ragged_call ragged_alone(const struct ragged_call *ragged, int64_t b);

/* Runs what ragged_alone() gave as a batch of one entry. */
void ragged_run_alone(headwise_context *context, struct ragged_call *alone);

/* Every output of sequence b has the bits of the sequence alone. */
void ragged_expect_same(const struct ragged_call *ragged, int64_t b,
                        const struct ragged_call *alone);

/* y's rows of sequence b as a view. */
struct headwise_tensor ragged_rows(const struct headwise_tensor *t, const int32_t *starts,
                                   int64_t b);

/* y's rows that belong to no sequence hold what they held. */
void ragged_expect_outside_untouched(const struct ragged_call *ragged);

#endif
