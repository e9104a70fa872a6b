/* Files of the articles' experiments: the layers they hold, and what else is in them. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include "vector_file.h"

/* What the files promise: 2e-6 on a map, and on everything else relative to its largest value, if
 * that is above 1. */
#define SEED_BOUND 2e-6
double seed_bound(const double *want, int64_t n);

/* got against want under seed_bound() plus more. */
void seed_expect(const float *got, const double *want, int64_t n, double more, const char *what);

/* prefix and name in one text of at most 95 bytes. */
const char *seed_name(const char *prefix, const char *name);

/* A stored layer and its run. All files have y = x W. */
struct seed_layer {
    const headwise_safetensors *file;
    struct headwise_mha_config config;
    int64_t batch, rows, heads;
    const float *x;
    const float *gates;
    float *y;
    struct headwise_probe probe; /* weights, scores, head outputs, contributions */
};

/* Matrices are called prefix W_Q and so on. */
struct seed_layer seed_load(const headwise_safetensors *file, const char *prefix, int64_t heads,
                            int64_t kv_heads);

headwise_context *seed_context(enum headwise_isa isa);

/* The library's layer; it and the context are destroyed by the caller. */
headwise_mha *seed_create(headwise_context *context, const struct seed_layer *s);

/* Runs it into fresh buffers y and probe. */
void seed_forward(headwise_context *context, const headwise_mha *mha, struct seed_layer *s);

/* All three. */
void seed_run(enum headwise_isa isa, struct seed_layer *s);

/* Compares an output with the tensor of that name, where the file has it. */
void seed_expect_tensor(const struct seed_layer *s, const float *got, const char *name, int64_t n);

/* What files say of the heads of a layer that has run: similarity, losses, prunings, ranks. */
void seed_expect_heads(enum headwise_isa isa, const struct seed_layer *s, const char *prefix);

/* Tests of the other files. */
void seed_run_counts(enum headwise_isa isa, const headwise_safetensors *file);
void seed_run_curve(enum headwise_isa isa, const headwise_safetensors *file);
void seed_run_circle(enum headwise_isa isa, const headwise_safetensors *file);
void seed_run_reach(enum headwise_isa isa, const headwise_safetensors *file);
void seed_run_mixtures(enum headwise_isa isa, const headwise_safetensors *file);

/* The key with the largest weight of each row of a map that a mask alone makes: logits [n][n], one
 * head, queries zero. weights [n][n]. */
void seed_run_logits(enum headwise_isa isa, const float *logits, int64_t n, float *weights,
                     int64_t *strongest);

#endif
