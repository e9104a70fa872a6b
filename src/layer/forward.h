/* A layer's call at work. */
#ifndef HEADWISE_FORWARD_H
#define HEADWISE_FORWARD_H

#include "attention/job.h"
#include "cache/cache.h"
#include "layer/head_rows.h"
#include "layer/mha.h"
#include "linear/project.h"

/* A matrix of f32 rows: the caller's memory where its form allows, else scratch. */
struct headwise_matrix_view {
    struct headwise_tensor tensor; /* the caller's */
    bool direct;                   /* the caller's memory is used as it is */
    int64_t at;                    /* else: offset in the scratch */
    int64_t stride;                /* floats between rows */
    float *data;
};

/* One call. What it does, in this order: inputs to f32; projections; norm and rotation of queries
 * and keys; keys and values into a cache; attention; contributions; output projection; output to
 * its type. has_queries, has_keys and has_output say which of it there is: a call that only appends
 * has no queries, one that only attends no keys, and one that only projects has no output: queries,
 * keys and values are copied to where they are wanted. */
struct headwise_forward {
    const headwise_mha *mha;
    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot; /* products of bytes */
    struct headwise_call *call;
    bool has_queries; /* projects queries */
    bool has_output;  /* attention and output */
    bool has_keys;    /* projects keys and values: from x, or from memory */
    bool has_memory;
    bool appends; /* keys and values go to append.cache; else the attention reads them as tensors */
    struct headwise_matrix_view x, memory, y;
    const struct headwise_tensor *wanted[3]; /* where q, k and v go, each or NULL */
    int64_t n_key_rows;                      /* of each batch entry */

    struct headwise_projection inputs[2]; /* from x, and from memory */
    int n_inputs;
    struct headwise_projection output;
    struct headwise_head_rows q_rows, k_rows; /* data NULL: nothing to be done to them */
    struct headwise_attention_job attention;  /* has_output */
    struct headwise_cache_append append;
    int64_t q_stride, k_stride, v_stride, heads_stride;
    float *heads;               /* concatenated head outputs, rows of heads_stride floats */
    float *worker_scratch;      /* of projections and contributions */
    struct headwise_held *held; /* what projections hold there */
};

/* Writes the phases that carry out the call to phases[0 ... n-1], and returns n, at most
 * HEADWISE_MAX_PHASES. */
int headwise_forward_phases(struct headwise_forward *forward, struct headwise_phase *phases);

static inline int64_t headwise_view_rows(const struct headwise_matrix_view *view) {
    return view->tensor.size[0] * view->tensor.size[2];
}

#endif
