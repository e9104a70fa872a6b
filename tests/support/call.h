/* Calls of the engine in guarded memory: less to write in each test. */
#ifndef TESTS_CALL_H
#define TESTS_CALL_H

#include "headwise/headwise.h"

#include "rng.h"

struct oracle_result; /* oracle.h */

struct call_shape {
    int64_t batch, heads, kv_heads, queries, keys, dim, value_dim; /* keys: rows of k */
};

/* A call of headwise_attention(). given holds what is given for it alone, beside the members here,
 * which call_arguments() adds. Copying the struct gives a second call with the same arrays;
 * call_new_outputs() then separates them. */
struct call {
    struct call_shape shape;
    struct headwise_tensor q, k, v, y;
    struct headwise_attention_options options;
    struct headwise_attention_call given;
    struct headwise_probe probe; /* size 0: none */
};

/* Tensors of one type that end at unreadable pages (or shift_bytes before), q, k, v random in
 * [-1, 1), y untouched. */
struct call call_make(struct test_rng *rng, const struct call_shape *shape,
                      enum headwise_dtype dtype, size_t shift_bytes);

/* q = 0, k = 1, v[j] = j + 1 (in every column), scale 1: every score is 0, and y is the mean of the
 * visible values. */
struct call call_uniform(const struct call_shape *shape);

/* A guarded contiguous tensor, (batch, head, row, column); values may be NULL: left untouched. */
struct headwise_tensor call_tensor(enum headwise_dtype dtype, int64_t batch, int64_t heads,
                                   int64_t rows, int64_t columns, const float *values);
void call_fill(struct test_rng *rng, struct headwise_tensor *t, float scale);

/* Which outputs of the probe a call asks for. */
enum call_wants {
    CALL_WEIGHTS = 1,
    CALL_MEAN = 2,
    CALL_SCORES = 4,
    CALL_LSE = 8,
    CALL_HEADS = 16,
    CALL_ALL = 31
};

/* New guarded probe outputs; scores are taken at stage. */
void call_probe(struct call *call, unsigned wants, enum headwise_score_stage stage);

/* A new y, and new probe outputs where the call has some. */
void call_new_outputs(struct call *call);

/* Number of keys with the past. */
int64_t call_keys(const struct call *call);

/* A context that must be creatable. The caller destroys it. */
headwise_context *call_context(enum headwise_isa isa, int n_threads);

/* What the library takes: it points into *call. */
struct headwise_attention_call call_arguments(const struct call *call);

/* Runs the call, whatever comes of it. */
enum headwise_status call_try(headwise_context *context, const struct call *call);

/* The call must succeed. call_run() uses a context of its own, with one thread: tests/threads shows
 * that their number changes no bit. */
void call_run_with(headwise_context *context, struct call *call);
void call_run(enum headwise_isa isa, struct call *call);

/* What the reference gives for the call. */
struct oracle_result *call_oracle(const struct call *call);

/* Runs, then compares y and the probe with the oracle. */
void call_expect_oracle(enum headwise_isa isa, struct call *call);

/* Both calls have been run: their y (and the probe outputs that both have) must have equal bits. */
void call_expect_same(const struct call *got, const struct call *want, const char *what);

/* y of a call with one value column against numbers [B][H][S], within 1e-6 relative. */
void call_expect_y(const struct call *call, const double *want, const char *what);

/* FNV-1a over every element of a tensor in logical order. */
uint64_t call_hash_tensor(uint64_t hash, const struct headwise_tensor *t);

#endif
