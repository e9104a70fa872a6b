#include "head_rows.h"

#include "rotary.h"

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

void headwise_head_rows_run(const struct headwise_head_rows *rows, int64_t first, int64_t last) {
    const int64_t *positions = rows->call->options.positions;
    for (int64_t r = first; r < last; r++) {
        float *row = rows->data + r * rows->stride;
        int64_t b = r / rows->n_rows;
        if (rows->norm->weight)
            normalize(rows, row);
        if (rows->mha->rotary)
            rotate(rows, row,
                   positions
                       ? positions[r]
                       : headwise_first_position(rows->call, b, rows->n_rows) + r % rows->n_rows);
    }
}
