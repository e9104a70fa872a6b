/* A block: attention and MLP with their norms and residuals. */
#ifndef HEADWISE_MODEL_BLOCK_H
#define HEADWISE_MODEL_BLOCK_H

#include "block/loader.h"

struct headwise_block {
    headwise_checkpoint_layer *attention;
    headwise_mlp *mlp;
    /* Norms where they are; NULL: none. */
    const struct headwise_row_norm *attention_in, *attention_out, *attention_sum;
    const struct headwise_row_norm *mlp_in, *mlp_out, *mlp_sum;
    struct headwise_row_norm norms[6];
    bool is_parallel;
};

/* Loads and packs block index. On failure what was made is left for _destroy. */
enum headwise_status headwise_block_load(struct headwise_block *block,
                                         struct headwise_loader *loader, int64_t index);

/* Zeros are allowed. */
void headwise_block_destroy(struct headwise_block *block);

size_t headwise_block_bytes(const struct headwise_block *block);
int64_t headwise_block_heads(const struct headwise_block *block);

/* The rows of a pass, and room for as many more. */
struct headwise_block_rows {
    int64_t n_rows, d_model;
    float *x;        /* the states, changed in place */
    float *spare[2]; /* the second is used where attention_in is there */
    int64_t n_sequences;
    const int32_t *starts;
    const int64_t *positions; /* [n_rows] or NULL */
    const float *gates;       /* of this layer and the first of these sequences; or NULL */
    int64_t gate_stride;
    const struct headwise_probe *probe; /* or NULL */
};

enum headwise_status headwise_block_forward(headwise_context *context,
                                            const struct headwise_block *block,
                                            const struct headwise_block_rows *rows);

#endif
