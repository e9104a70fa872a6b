/* Layers with random weights, and forward calls of them. */
#ifndef TESTS_LAYER_H
#define TESTS_LAYER_H

#include "call.h"

/* Weights of config's type that end at unreadable pages, in [-1, 1) / sqrt(inputs), for a config
 * whose sizes are set; biases in [-1, 1) where with_biases. config->size is set too. */
void layer_fill_weights(struct test_rng *rng, struct headwise_mha_config *config, bool with_biases);

/* A forward call: x, memory and y are (B, 1, rows, columns); given as in struct call. */
struct layer_call {
    const struct headwise_mha_config *config;
    struct headwise_tensor x, memory, y;
    bool has_memory;
    struct headwise_attention_options options;
    struct headwise_attention_call given;
    struct headwise_probe probe; /* as in struct call, and contributions */
};

/* Random x and, where memory_rows >= 0, a memory; all of one type. */
struct layer_call layer_call_make(struct test_rng *rng, const struct headwise_mha_config *config,
                                  int64_t batch, int64_t rows, int64_t memory_rows,
                                  enum headwise_dtype dtype);

/* Every probe output, contributions included, in guarded memory. */
void layer_call_probe(struct layer_call *call, enum headwise_score_stage stage);

int64_t layer_call_keys(const struct layer_call *call);

/* What the library takes: it points into *call. */
struct headwise_attention_call layer_call_arguments(const struct layer_call *call);

/* Runs the call, whatever comes of it. */
enum headwise_status layer_try(headwise_context *context, const headwise_mha *mha,
                               const struct layer_call *call);

/* What the reference gives for the call of a layer made from config. */
struct oracle_result *layer_oracle(const struct headwise_mha_config *config,
                                   const struct layer_call *call);

/* Both must succeed. */
headwise_mha *layer_create(headwise_context *context, const struct headwise_mha_config *config);
void layer_run_with(headwise_context *context, const headwise_mha *mha, struct layer_call *call);

/* Creates context (one thread) and layer, runs, compares y and the probe with the oracle. */
void layer_expect_oracle(enum headwise_isa isa, struct layer_call *call);

#endif
