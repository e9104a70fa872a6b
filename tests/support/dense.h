/* Linear layers and MLPs with random weights, and calls of them in guarded memory. */
#ifndef TESTS_DENSE_H
#define TESTS_DENSE_H

#include "headwise/headwise.h"

#include "rng.h"

/* How a test's matrices are given and kept. */
enum dense_kind {
    DENSE_F32,
    DENSE_F16,
    DENSE_BF16,
    DENSE_I8,      /* given as integers with scales */
    DENSE_DYNAMIC, /* likewise, and rows are rounded */
    DENSE_GROUPS,  /* given as f32; weights and rows are rounded in groups of DENSE_GROUP */
    DENSE_KINDS
};

enum { DENSE_GROUP = 64 };

/* Weights of n outputs by k inputs in guarded memory. */
struct dense_matrix {
    enum dense_kind kind;
    enum headwise_layout layout;
    int64_t k, n;
    void *given;
    float *bias, *scales; /* scales NULL but where integers are given */
};

/* Weights in [-1, 1) / sqrt(k), given as f32 but for I8 and DYNAMIC, and biases in [-1, 1). */
struct dense_matrix dense_make(struct test_rng *rng, enum dense_kind kind,
                               enum headwise_layout layout, int64_t k, int64_t n);

/* The weight of input t in output j that is kept: without its scale where it is an integer. Not of
 * GROUPS. */
double dense_kept(const struct dense_matrix *matrix, int64_t t, int64_t j);

/* GROUPS: the scale of output j for the inputs of input t's group, and t's integer. */
float dense_group_scale(const struct dense_matrix *matrix, int64_t t, int64_t j);
int64_t dense_group_integer(const struct dense_matrix *matrix, int64_t t, int64_t j);

struct headwise_linear_config dense_config(const struct dense_matrix *matrix);

/* Both must succeed. */
headwise_linear *dense_create(headwise_context *context, const struct dense_matrix *matrix);
void dense_run(headwise_context *context, const headwise_linear *linear,
               const struct headwise_linear_call *call);

/* A config of two matrices, or three with a gate; d_hidden is up's n. */
struct headwise_mlp_config dense_mlp_config(const struct dense_matrix *up,
                                            const struct dense_matrix *gate,
                                            const struct dense_matrix *down,
                                            enum headwise_activation activation);

/* Rows of x in [-1, 1) with a stride that is n and gap, and untouched rows of y. */
float *dense_rows(struct test_rng *rng, int64_t m, int64_t n, int64_t gap);
float *dense_no_rows(int64_t m, int64_t n, int64_t gap);

#endif
