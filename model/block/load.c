/* Loads a block: its attention by headwise-io, its norms and MLP by their names. */
#include <stdio.h>

#include "base/error.h"
#include "block/block.h"

static enum headwise_status load_attention(struct headwise_block *block,
                                           struct headwise_loader *loader, int64_t index) {
    const char *name;
    enum headwise_status status = headwise_loader_io(headwise_checkpoint_layer_create(
        &block->attention, loader->checkpoint, loader->context, loader->description->part, index));
    for (size_t i = 0;
         !status && (name = headwise_checkpoint_layer_tensor_name(block->attention, i)); i++)
        status = headwise_loader_note(loader, name);
    return status;
}

static enum headwise_status load_norms(struct headwise_block *block, struct headwise_loader *loader,
                                       int64_t index) {
    const struct headwise_block_form *form = &loader->description->block;
    bool has_first = index > 0 || !form->first_has_no_norm;
    const struct {
        const char *name;
        const struct headwise_row_norm **norm;
        bool is_scaled; /* reads the states themselves */
    } norms[] = {
        {has_first ? form->attention_in : NULL, &block->attention_in, true},
        {form->attention_out, &block->attention_out, false},
        {form->attention_sum, &block->attention_sum, false},
        {form->mlp_in, &block->mlp_in, true},
        {form->mlp_out, &block->mlp_out, false},
        {form->mlp_sum, &block->mlp_sum, false},
    };
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < sizeof norms / sizeof *norms; i++) {
        char name[HEADWISE_NAME_SIZE];
        if (!norms[i].name)
            continue;
        headwise_describe_layer_name(name, loader->description, index, norms[i].name, "");
        status = headwise_load_norm(loader, name, loader->description->d_model, norms[i].is_scaled,
                                    &block->norms[i]);
        *norms[i].norm = &block->norms[i];
    }
    if (form->is_parallel && !form->mlp_in)
        block->mlp_in = block->attention_in;
    return status;
}

enum { UP, GATE, DOWN, N_MATRICES };

/* The matrices of the MLP, those of a joined tensor as its two halves, and their biases. */
struct parts {
    struct headwise_matrix matrices[N_MATRICES];
    const float *biases[N_MATRICES];
    int64_t d_hidden;
};

static enum headwise_status load_part(struct headwise_loader *loader, struct parts *parts,
                                      int which, int64_t index, int64_t n_outputs,
                                      int64_t n_inputs) {
    const struct headwise_block_form *form = &loader->description->block;
    const char *const stems[] = {form->up, form->gate, form->down};
    bool is_in_out = form->is_in_out;
    bool has_bias = which == DOWN ? form->down_has_bias : form->up_has_bias;
    struct headwise_matrix *matrix = &parts->matrices[which];
    char name[HEADWISE_NAME_SIZE];
    headwise_describe_layer_name(name, loader->description, index, stems[which], ".weight");
    enum headwise_status status = headwise_load_matrix(
        loader, name, is_in_out ? n_inputs : n_outputs, is_in_out ? n_outputs : n_inputs, matrix);
    if (status || !has_bias)
        return status;
    headwise_describe_layer_name(name, loader->description, index, stems[which], ".bias");
    return headwise_load_vector(loader, name, is_in_out ? matrix->columns : matrix->rows,
                                &parts->biases[which]);
}

/* The first half is the gate's, the second what it multiplies. */
static enum headwise_status part_halves(struct headwise_loader *loader, struct parts *parts) {
    struct headwise_matrix *up = &parts->matrices[UP], *gate = &parts->matrices[GATE];
    if (up->rows % 2 != 0)
        return headwise_model_fail(HEADWISE_ERR_FORMAT,
                                   "%s: \"%s\" of the MLP has %lld rows, expected an even number",
                                   headwise_checkpoint_path(loader->checkpoint),
                                   loader->description->block.up, (long long)up->rows);
    parts->d_hidden = up->rows / 2;
    *gate = (struct headwise_matrix){
        .data = up->data, .dtype = up->dtype, .rows = parts->d_hidden, .columns = up->columns};
    if (parts->biases[UP]) {
        parts->biases[GATE] = parts->biases[UP];
        parts->biases[UP] += parts->d_hidden;
    }
    return HEADWISE_OK;
}

static enum headwise_status load_parts(struct headwise_loader *loader, struct parts *parts,
                                       int64_t index) {
    const struct headwise_block_form *form = &loader->description->block;
    int64_t d_model = loader->description->d_model;
    enum headwise_status status = load_part(loader, parts, UP, index, 0, d_model);
    parts->d_hidden = form->is_in_out ? parts->matrices[UP].columns : parts->matrices[UP].rows;
    if (!status && form->gating == HEADWISE_GATE_UP_JOINED)
        status = part_halves(loader, parts);
    if (!status && form->gating == HEADWISE_GATE_APART)
        status = load_part(loader, parts, GATE, index, parts->d_hidden, d_model);
    if (!status)
        status = load_part(loader, parts, DOWN, index, d_model, parts->d_hidden);
    return status;
}

/* Where the second half of a joined matrix begins. */
static const void *second_half(const struct headwise_matrix *up) {
    return (const char *)up->data +
           (size_t)(up->rows / 2 * up->columns) * headwise_dtype_size(up->dtype);
}

static enum headwise_status pack_parts(struct headwise_block *block, struct headwise_loader *loader,
                                       struct parts *parts) {
    const struct headwise_block_form *form = &loader->description->block;
    struct headwise_matrix *matrices = parts->matrices;
    bool is_joined = form->gating == HEADWISE_GATE_UP_JOINED;
    struct headwise_matrix apart[N_MATRICES];
    int n = 0;
    for (int i = 0; i < N_MATRICES; i++) {
        if (matrices[i].data && !(is_joined && i == GATE))
            apart[n++] = matrices[i];
    }
    enum headwise_status status = headwise_matrices_join(loader, apart, n);
    n = 0;
    for (int i = 0; i < N_MATRICES; i++) {
        if (matrices[i].data && !(is_joined && i == GATE))
            matrices[i] = apart[n++];
    }
    if (status)
        return status;
    struct headwise_mlp_config config = {
        .size = sizeof config,
        .d_model = loader->description->d_model,
        .d_hidden = parts->d_hidden,
        .activation = form->activation,
        .layout = form->is_in_out ? HEADWISE_IN_OUT : HEADWISE_OUT_IN,
        .weight_dtype = matrices[UP].dtype,
        .w_up = is_joined ? second_half(&matrices[UP]) : matrices[UP].data,
        .w_gate = is_joined ? matrices[UP].data : matrices[GATE].data,
        .w_down = matrices[DOWN].data,
        .b_up = parts->biases[UP],
        .b_gate = parts->biases[GATE],
        .b_down = parts->biases[DOWN],
        .packed_dtype = headwise_loader_packed(loader, matrices[UP].dtype),
    };
    config.dynamic_int8 = headwise_loader_rounds_rows(loader, &config.dynamic_group);
    return headwise_loader_core(loader, headwise_mlp_create(&block->mlp, loader->context, &config));
}

enum headwise_status headwise_block_load(struct headwise_block *block,
                                         struct headwise_loader *loader, int64_t index) {
    struct parts parts = {0};
    block->is_parallel = loader->description->block.is_parallel;
    enum headwise_status status = load_attention(block, loader, index);
    if (!status)
        status = load_norms(block, loader, index);
    if (!status)
        status = load_parts(loader, &parts, index);
    if (!status)
        status = pack_parts(block, loader, &parts);
    for (int i = 0; i < N_MATRICES; i++)
        headwise_matrix_drop(loader, &parts.matrices[i]);
    return status;
}

void headwise_block_destroy(struct headwise_block *block) {
    headwise_checkpoint_layer_destroy(block->attention);
    headwise_mlp_destroy(block->mlp);
}

size_t headwise_block_bytes(const struct headwise_block *block) {
    return headwise_mha_describe(headwise_checkpoint_layer_mha(block->attention))->weight_bytes +
           headwise_mlp_describe(block->mlp)->weight_bytes;
}

int64_t headwise_block_heads(const struct headwise_block *block) {
    return headwise_mha_describe(headwise_checkpoint_layer_mha(block->attention))->n_heads;
}
