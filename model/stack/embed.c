/* From ids, or pixels, to the rows that the first block reads. Sums are single additions of f32 in
 * the order word, position, type: the same on every tier. */
#include <string.h>

#include "base/float_mode.h"
#include "stack/transformer.h"

static void add(float *row, const float *other, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        row[i] += other[i];
}

/* The row of the table of positions for place p; with pads counts those before it that count. */
static void embed_sequence(const struct headwise_pass *pass, int64_t begin, int64_t end,
                           float *rows) {
    const headwise_transformer *network = pass->network;
    const struct headwise_transformer_call *call = pass->call;
    const struct headwise_embeddings *form = &network->description.embeddings;
    int64_t width = network->d_embedding, place = 0;
    for (int64_t r = begin; r < end; r++) {
        float *row = rows + (r - begin) * width;
        bool is_pad = form->pad_id >= 0 && call->ids[r] == form->pad_id;
        int64_t position = form->position_offset + (is_pad ? -1 : place);
        if (call->positions)
            position = form->position_offset + call->positions[r];
        headwise_table_read(row, &network->words, call->ids[r], network->word_factor);
        if (network->position)
            add(row, network->position + position * width, width);
        if (network->type)
            add(row, network->type + (call->types ? call->types[r] : 0) * width, width);
        place += !is_pad;
    }
}

static enum headwise_status embed_text(const struct headwise_pass *pass) {
    HEADWISE_FLOAT_SCOPE();
    const headwise_transformer *network = pass->network;
    float *rows = network->project ? pass->spare[0] : pass->x;
    for (int64_t s = 0; s < pass->n_sequences; s++)
        embed_sequence(pass, pass->first_row + pass->starts[s],
                       pass->first_row + pass->starts[s + 1],
                       rows + pass->starts[s] * network->d_embedding);
    return HEADWISE_OK;
}

/* Rows [channel][y][x] of each patch, patches from left to right, from top to bottom. */
static void cut_patches(const headwise_transformer *network, const float *pixels, float *rows) {
    const struct headwise_embeddings *form = &network->description.embeddings;
    int64_t side = form->patch_size, size = form->image_size;
    for (int64_t top = 0; top < size; top += side) {
        for (int64_t left = 0; left < size; left += side) {
            for (int64_t line = 0; line < form->n_channels * side; line++) {
                int64_t channel = line / side, y = top + line % side;
                memcpy(rows, pixels + (channel * size + y) * size + left,
                       (size_t)side * sizeof *rows);
                rows += side;
            }
        }
    }
}

static enum headwise_status embed_image(const struct headwise_pass *pass, int64_t index,
                                        float *patches) {
    HEADWISE_FLOAT_SCOPE();
    const headwise_transformer *network = pass->network;
    const struct headwise_transformer_info *info = &network->info;
    const struct headwise_embeddings *form = &network->description.embeddings;
    int64_t d = info->d_model;
    float *rows = pass->x + index * info->n_patches * d;
    cut_patches(network,
                pass->call->pixels + (pass->first_sequence + index) * form->n_channels *
                                         form->image_size * form->image_size,
                patches);
    memcpy(rows, network->class_token, (size_t)d * sizeof *rows);
    add(rows, network->position, d);
    const struct headwise_linear_call call = {.size = sizeof call,
                                              .n_rows = info->n_patches - 1,
                                              .x = patches,
                                              .y = rows + d,
                                              .residual = network->position + d};
    return headwise_stack_core(headwise_linear_forward(pass->context, network->patch, &call));
}

enum headwise_status headwise_stack_embed(const struct headwise_pass *pass) {
    const headwise_transformer *network = pass->network;
    enum headwise_status status = HEADWISE_OK;
    if (!network->patch)
        status = embed_text(pass);
    for (int64_t i = 0; !status && network->patch && i < pass->n_sequences; i++)
        status = embed_image(pass, i, pass->spare[0]);
    float *rows = network->project ? pass->spare[0] : pass->x;
    if (!status && network->has_embedding_norm) {
        const struct headwise_rows call = {.size = sizeof call,
                                           .n_rows = pass->n_rows,
                                           .n = network->d_embedding,
                                           .x = rows,
                                           .y = rows,
                                           .norm = &network->embedding_norm};
        status = headwise_stack_core(headwise_normalize_rows(pass->context, &call));
    }
    if (!status && network->project) {
        const struct headwise_linear_call call = {
            .size = sizeof call, .n_rows = pass->n_rows, .x = rows, .y = pass->x};
        status =
            headwise_stack_core(headwise_linear_forward(pass->context, network->project, &call));
    }
    return status;
}
