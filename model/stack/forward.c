/* A forward: passes over the sequences, blocks over the rows of each. */
#include <string.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/memory.h"
#include "stack/transformer.h"

/* Rows of a pass: for each thread as many as a linear layer's task takes on avx512, rounded down,
 * and enough that a pass costs nothing beside its products. MiniLM on one thread: 8192 are no
 * faster and take 40 MB more. */
enum { THREAD_TOKENS = 256, LEAST_TOKENS = 512 };

int64_t headwise_stack_pass_tokens(const headwise_context *context, int64_t asked) {
    int64_t n = headwise_context_describe(context)->n_threads * (int64_t)THREAD_TOKENS;
    return asked > 0 ? asked : n > LEAST_TOKENS ? n : LEAST_TOKENS;
}

enum headwise_status headwise_stack_core(enum headwise_status status) {
    return status ? headwise_model_fail(status, "%s", headwise_last_error()) : HEADWISE_OK;
}

int64_t headwise_stack_start(const headwise_transformer *network,
                             const struct headwise_transformer_call *call, int64_t sequence) {
    return network->patch ? sequence * network->info.n_patches : call->starts[sequence];
}

/* The sequence after the last one of the pass that begins with first: at least one more. */
static int64_t pass_end(const headwise_context *context, const headwise_transformer *network,
                        const struct headwise_transformer_call *call, int64_t first) {
    int64_t most = headwise_stack_pass_tokens(context, call->max_pass_tokens);
    int64_t begin = headwise_stack_start(network, call, first), end = first + 1;
    if (call->probes)
        return call->n_sequences;
    while (end < call->n_sequences && headwise_stack_start(network, call, end + 1) - begin <= most)
        end++;
    return end;
}

/* dst = factor * src. */
static void copy_states(float *dst, const float *src, int64_t n, double factor) {
    HEADWISE_FLOAT_SCOPE();
    if (factor == 1) {
        memcpy(dst, src, (size_t)n * sizeof *dst);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        dst[i] = (float)(src[i] * factor);
}

/* The states before a layer, to whoever asked for them. */
static void keep_states(const struct headwise_pass *pass, int64_t layer, const float *x,
                        double factor) {
    const struct headwise_transformer_call *call = pass->call;
    int64_t d = pass->network->info.d_model;
    int64_t n_rows = headwise_stack_start(pass->network, call, call->n_sequences);
    for (int64_t i = 0; i < call->n_hidden; i++) {
        if (call->hidden_layers[i] == layer)
            copy_states(call->hidden + (i * n_rows + pass->first_row) * d, x, pass->n_rows * d,
                        factor);
    }
}

static enum headwise_status run_blocks(const struct headwise_pass *pass, double factor) {
    const headwise_transformer *network = pass->network;
    const struct headwise_transformer_call *call = pass->call;
    struct headwise_block_rows rows = {
        .n_rows = pass->n_rows,
        .d_model = network->info.d_model,
        .x = pass->x,
        .spare = {pass->spare[0], pass->spare[1]},
        .n_sequences = pass->n_sequences,
        .starts = pass->starts,
        .positions = call->positions ? call->positions + pass->first_row : NULL,
        .gate_stride = call->gate_sequence_stride,
    };
    enum headwise_status status = HEADWISE_OK;
    for (int64_t i = 0; !status && i < network->info.n_layers; i++) {
        keep_states(pass, i, pass->x, factor);
        rows.probe = call->probes ? &call->probes[i] : NULL;
        if (call->gates)
            rows.gates = call->gates + pass->first_sequence * call->gate_sequence_stride +
                         i * network->info.most_heads;
        status = headwise_block_forward(pass->context, &network->blocks[i], &rows);
        if (!status && call->layer_done)
            status = call->layer_done(call->layer_user, i);
    }
    return status;
}

/* The last norm, then everything that is made of the states behind it. */
static enum headwise_status finish_pass(const struct headwise_pass *pass, double factor) {
    const headwise_transformer *network = pass->network;
    const struct headwise_transformer_call *call = pass->call;
    int64_t d = network->info.d_model, n_layers = network->info.n_layers;
    bool is_normed = network->has_last_norm && network->description.last_hidden_is_normed;
    enum headwise_status status = HEADWISE_OK;
    if (!is_normed)
        keep_states(pass, n_layers, pass->x, factor);
    if (network->has_last_norm) {
        const struct headwise_rows rows = {.size = sizeof rows,
                                           .n_rows = pass->n_rows,
                                           .n = d,
                                           .x = pass->x,
                                           .y = pass->x,
                                           .norm = &network->last_norm};
        status = headwise_stack_core(headwise_normalize_rows(pass->context, &rows));
    }
    if (status)
        return status;
    if (is_normed)
        keep_states(pass, n_layers, pass->x, 1);
    if (call->last_hidden)
        copy_states(call->last_hidden + pass->first_row * d, pass->x, pass->n_rows * d,
                    network->has_last_norm ? 1 : factor);
    return headwise_stack_head(pass, pass->x);
}

static enum headwise_status run_pass(struct headwise_pass *pass, int64_t end) {
    const headwise_transformer *network = pass->network;
    double residual = network->description.residual_scale, factor = residual > 0 ? residual : 1;
    pass->n_sequences = end - pass->first_sequence;
    pass->first_row = headwise_stack_start(network, pass->call, pass->first_sequence);
    pass->n_rows = headwise_stack_start(network, pass->call, end) - pass->first_row;
    for (int64_t s = 0; s <= pass->n_sequences; s++)
        pass->starts[s] =
            (int32_t)(headwise_stack_start(network, pass->call, pass->first_sequence + s) -
                      pass->first_row);
    enum headwise_status status = headwise_stack_embed(pass);
    if (!status)
        status = run_blocks(pass, factor);
    return status ? status : finish_pass(pass, factor);
}

/* Pieces of one allocation, in floats. */
struct room {
    int64_t x, spare[2], gathered, made[2], starts;
};

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Room for the largest of the call's passes. */
static struct room measure(const headwise_context *context, const headwise_transformer *network,
                           const struct headwise_transformer_call *call) {
    int64_t most_rows = 0, most_sequences = 0, d = network->info.d_model;
    for (int64_t first = 0, end; first < call->n_sequences; first = end) {
        end = pass_end(context, network, call, first);
        most_rows = larger(most_rows, headwise_stack_start(network, call, end) -
                                          headwise_stack_start(network, call, first));
        most_sequences = larger(most_sequences, end - first);
    }
    const struct headwise_embeddings *form = &network->description.embeddings;
    int64_t patches = network->patch ? form->n_channels * form->image_size * form->image_size : 0;
    bool has_head = call->pooled || call->logits;
    int64_t head_rows = !has_head ? 0 : HEADWISE_HEAD_ROWS;
    return (struct room){
        .x = most_rows * d,
        .spare = {larger(most_rows * larger(d, network->d_embedding), patches),
                  network->has_attention_in ? most_rows * d : 0},
        .gathered = head_rows * d,
        .made = {head_rows * network->step_width, head_rows * network->step_width},
        .starts = most_sequences + 1,
    };
}

/* The next piece of the memory, at a whole line of it. */
static float *cut(float **at, int64_t n) {
    float *piece = *at;
    *at += (n + 15) / 16 * 16;
    return piece;
}

enum headwise_status headwise_stack_forward(headwise_context *context,
                                            const headwise_transformer *network,
                                            const struct headwise_transformer_call *call) {
    struct headwise_pass pass = {.context = context, .network = network, .call = call};
    struct room room = measure(context, network, call);
    const struct headwise_allocator *allocator = &network->store.allocator;
    size_t n = (size_t)(room.x + room.spare[0] + room.spare[1] + room.gathered + room.made[0] +
                        room.made[1] + room.starts + 7 * 15);
    float *memory = headwise_memory_take(allocator, n, sizeof *memory), *at = memory;
    enum headwise_status status =
        memory ? HEADWISE_OK : headwise_model_no_memory("transformer_forward");
    if (memory) {
        pass.x = cut(&at, room.x);
        pass.spare[0] = cut(&at, room.spare[0]);
        pass.spare[1] = cut(&at, room.spare[1]);
        pass.gathered = cut(&at, room.gathered);
        pass.made[0] = cut(&at, room.made[0]);
        pass.made[1] = cut(&at, room.made[1]);
        pass.starts = (int32_t *)cut(&at, room.starts);
    }
    for (int64_t end; !status && pass.first_sequence < call->n_sequences;
         pass.first_sequence = end) {
        end = pass_end(context, network, call, pass.first_sequence);
        status = run_pass(&pass, end);
    }
    headwise_memory_give(allocator, memory, n, sizeof *memory);
    return status;
}
