/* What becomes of projected rows before attention reads them: norm and rotation of each head. */
#ifndef HEADWISE_HEAD_ROWS_H
#define HEADWISE_HEAD_ROWS_H

#include "attention/call.h"
#include "kernels/kernels.h"
#include "layer/mha.h"

/* Rows of queries or keys, [batch][n_rows][n_heads * head_dim], stride floats apart. */
struct headwise_head_rows {
    const struct headwise_kernels *kernels;
    const struct headwise_call *call;
    const headwise_mha *mha;
    const struct headwise_head_norm *norm;
    float *data;
    int64_t n_rows, n_heads, stride;
};

/* Whether the layer does anything to its queries, or to its keys. */
static inline bool headwise_changes_head_rows(const headwise_mha *mha,
                                              const struct headwise_head_norm *norm) {
    return mha->rotary || norm->weight;
}

/* The position in batch entry b of the first of n_rows rows, where the caller gives none. */
static inline int64_t headwise_first_position(const struct headwise_call *call, int64_t b,
                                              int64_t n_rows) {
    return call->cache ? headwise_call_keys(call, b) - n_rows : call->n_past;
}

/* Norm and rotation, in place, of rows first ... last-1 of all batch entries together. */
void headwise_head_rows_run(const struct headwise_head_rows *rows, int64_t first, int64_t last);

#endif
