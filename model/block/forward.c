/* Runs a block on the rows of a pass. */
#include "base/error.h"
#include "block/block.h"

/* The core's error line becomes this library's. */
static enum headwise_status from_core(enum headwise_status status) {
    return status ? headwise_model_fail(status, "%s", headwise_last_error()) : HEADWISE_OK;
}

/* y = norm(x + residual). */
static enum headwise_status add_rows(headwise_context *context, const struct headwise_block_rows *r,
                                     const float *x, const float *residual, float *y,
                                     const struct headwise_row_norm *norm) {
    const struct headwise_rows rows = {.size = sizeof rows,
                                       .n_rows = r->n_rows,
                                       .n = r->d_model,
                                       .x = x,
                                       .residual = residual,
                                       .y = y,
                                       .norm = norm};
    return from_core(headwise_normalize_rows(context, &rows));
}

/* y = attention(x) of each sequence. */
static enum headwise_status attend(headwise_context *context, const struct headwise_block *block,
                                   const struct headwise_block_rows *r, const float *x, float *y) {
    struct headwise_tensor tx = headwise_tensor_brhc(x, HEADWISE_F32, 1, r->n_rows, 1, r->d_model);
    struct headwise_tensor ty = headwise_tensor_brhc(y, HEADWISE_F32, 1, r->n_rows, 1, r->d_model);
    const struct headwise_attention_call call = {
        .size = sizeof call,
        .y = &ty,
        .x = &tx,
        .n_sequences = r->n_sequences,
        .query_starts = r->starts,
        .options = headwise_checkpoint_layer_options(block->attention),
        .positions = r->positions,
        .head_gates = r->gates,
        .gate_batch_stride = r->gate_stride,
        .probe = r->probe,
    };
    return from_core(
        headwise_mha_forward(context, headwise_checkpoint_layer_mha(block->attention), &call));
}

/* x = x + MLP(x), or what the norms make of it. */
static enum headwise_status run_mlp(headwise_context *context, const struct headwise_block *block,
                                    const struct headwise_block_rows *r) {
    const struct headwise_mlp_call call = {
        .size = sizeof call,
        .n_rows = r->n_rows,
        .x = r->x,
        .y = r->x,
        .input_norm = block->mlp_in,
        .residual = r->x,
        .output_norm = block->mlp_out ? block->mlp_out : block->mlp_sum,
        .norm_before_residual = block->mlp_out != NULL,
    };
    return from_core(headwise_mlp_forward(context, block->mlp, &call));
}

enum headwise_status headwise_block_forward(headwise_context *context,
                                            const struct headwise_block *block,
                                            const struct headwise_block_rows *r) {
    float *attended = r->spare[0];
    const float *x = r->x;
    enum headwise_status status = HEADWISE_OK;
    if (block->attention_in) {
        status = add_rows(context, r, r->x, NULL, r->spare[1], block->attention_in);
        x = r->spare[1];
    }
    if (!status)
        status = attend(context, block, r, x, attended);
    if (!status && block->attention_out)
        status = add_rows(context, r, attended, NULL, attended, block->attention_out);
    if (!status && block->is_parallel) /* before the states change */
        status = run_mlp(context, block, r);
    if (!status)
        status = add_rows(context, r, attended, r->x, r->x, block->attention_sum);
    return status || block->is_parallel ? status : run_mlp(context, block, r);
}
