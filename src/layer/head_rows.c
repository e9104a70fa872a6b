/* Normalizes and rotates the heads of projected rows. */
#include "layer/head_rows.h"

#include "attention/ragged.h"
#include "positions/rotary.h"

static void normalize(const struct headwise_head_rows *rows, float *row) {
    const headwise_mha *mha = rows->mha;
    const struct headwise_head_norm *norm = rows->norm;
    headwise_norm_fn *kernel =
        mha->norm == HEADWISE_NORM_RMS ? rows->kernels->norm_rms : rows->kernels->norm_layer;
    kernel(row, mha->head_dim, row, mha->head_dim, norm->weight, norm->bias, rows->n_heads,
           mha->head_dim, mha->norm_eps);
}

static void rotate(const struct headwise_head_rows *rows, float *row, int64_t position) {
    const headwise_mha *mha = rows->mha;
    int64_t pairs = mha->rotary->rotary_dim / 2;
    headwise_rotate_kernel(rows->kernels, mha->rotary->pairs)(
        row, mha->head_dim, row, mha->head_dim, mha->rotary->cos + position * pairs,
        mha->rotary->sin + position * pairs, rows->n_heads, pairs);
}

static int64_t position_of(const struct headwise_head_rows *rows, int64_t r) {
    const struct headwise_call *call = rows->call;
    if (call->positions)
        return call->positions[r];
    if (call->ragged.query_starts) /* with rotary keys are of the same rows */
        return headwise_ragged_position(call, r);
    int64_t b = r / rows->n_rows;
    return headwise_first_position(call, b, rows->n_rows) + r % rows->n_rows;
}

void headwise_head_rows_run(const struct headwise_head_rows *rows, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; r++) {
        float *row = rows->data + r * rows->stride;
        if (rows->norm->weight)
            normalize(rows, row);
        if (rows->mha->rotary)
            rotate(rows, row, position_of(rows, r));
    }
}
