/* What the result loses without a head: copies of the sequence, each with one gate at 0. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "sight/sight.h"

enum { PASS_TOKENS = 8192 };

/* Copies that run together. */
struct copies {
    struct headwise_sight_room room;
    int64_t most; /* copies of a pass */
    int32_t *starts, *ids, *types;
    float *gates, *rows, *vectors, *results;
};

enum headwise_status headwise_sight_results(headwise_context *context, const headwise_sight *sight,
                                            float *results, float *vectors, const float *rows,
                                            const int32_t *starts, int64_t n) {
    const headwise_encoder *encoder = sight->encoder;
    int64_t n_result = sight->info.n_result;
    enum headwise_status status =
        headwise_encoder_vectors(context, encoder, &vectors, rows, starts, n, sight->first_row);
    for (int64_t i = 0; !status && i < n; i++)
        memcpy(results + i * n_result, vectors + i * encoder->width,
               (size_t)n_result * sizeof *results);
    return status;
}

static enum headwise_status make_room(struct copies *copies, const headwise_sight *sight,
                                      int64_t budget) {
    const struct headwise_transformer_info *info =
        headwise_transformer_describe(sight->encoder->transformer);
    struct headwise_sight_room *room = &copies->room;
    int64_t n = sight->info.n_tokens, most = budget / n;
    most = most < 1 ? 1 : most > sight->info.n_heads ? sight->info.n_heads : most;
    int64_t rows = most * n;
    copies->most = most;
    if (rows > INT32_MAX)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "sight_create: a pass has %lld tokens, expected less than 2^31",
                                   (long long)rows);
    copies->starts = headwise_sight_take(room, most + 1, sizeof *copies->starts);
    copies->ids = headwise_sight_take(room, rows, sizeof *copies->ids);
    copies->types = headwise_sight_take(room, rows, sizeof *copies->types);
    copies->gates =
        headwise_sight_take(room, most * info->n_layers * info->most_heads, sizeof *copies->gates);
    copies->rows = headwise_sight_take(room, sight->info.is_logits ? 1 : rows * info->d_model,
                                       sizeof *copies->rows);
    copies->vectors =
        headwise_sight_take(room, 2 * most * sight->encoder->width, sizeof *copies->vectors);
    copies->results =
        headwise_sight_take(room, most * sight->info.n_result, sizeof *copies->results);
    if (!copies->starts || !copies->ids || !copies->types || !copies->gates || !copies->rows ||
        !copies->vectors || !copies->results)
        return headwise_model_no_memory("sight_create");
    for (int64_t i = 0; i < most; i++) {
        copies->starts[i + 1] = (int32_t)((i + 1) * n);
        memcpy(copies->ids + i * n, sight->ids, (size_t)n * sizeof *copies->ids);
        if (sight->types)
            memcpy(copies->types + i * n, sight->types, (size_t)n * sizeof *copies->types);
    }
    return HEADWISE_OK;
}

static void compare(struct headwise_sight_head *head, const struct headwise_sight_info *info,
                    const float *changed) {
    double difference = 0, whole = 0, other = 0, product = 0;
    int64_t largest = 0;
    for (int64_t i = 0; i < info->n_result; i++) {
        double a = (double)info->result[i], b = (double)changed[i];
        difference += (b - a) * (b - a);
        whole += a * a;
        other += b * b;
        product += a * b;
        if (info->result[i] > info->result[largest])
            largest = i;
    }
    head->change = whole > 0 ? sqrt(difference / whole) : 0;
    head->cosine = whole > 0 && other > 0 ? product / (sqrt(whole) * sqrt(other)) : 0;
    head->delta = info->is_logits ? (double)changed[largest] - (double)info->result[largest] : 0;
}

/* Heads first ... first + n - 1, each gated off in a copy of its own. */
static enum headwise_status run_pass(struct copies *copies, headwise_sight *sight,
                                     headwise_context *context, int64_t first, int64_t n) {
    const headwise_transformer *network = sight->encoder->transformer;
    const struct headwise_transformer_info *info = headwise_transformer_describe(network);
    int64_t stride = info->n_layers * info->most_heads;
    for (int64_t i = 0; i < n * stride; i++)
        copies->gates[i] = 1;
    for (int64_t i = 0; i < n; i++) {
        const struct headwise_sight_head *head = &sight->heads[first + i];
        copies->gates[i * stride + head->layer * info->most_heads + head->head] = 0;
    }
    const struct headwise_transformer_call call = {
        .size = sizeof call,
        .n_sequences = n,
        .starts = copies->starts,
        .ids = copies->ids,
        .types = sight->types ? copies->types : NULL,
        .last_hidden = sight->info.is_logits ? NULL : copies->rows,
        .logits = sight->info.is_logits ? copies->results : NULL,
        .gates = copies->gates,
        .gate_sequence_stride = stride,
        .max_pass_tokens = copies->starts[n]};
    enum headwise_status status = headwise_transformer_forward(context, network, &call);
    if (!status && !sight->info.is_logits)
        status = headwise_sight_results(context, sight, copies->results, copies->vectors,
                                        copies->rows, copies->starts, n);
    HEADWISE_FLOAT_SCOPE();
    for (int64_t i = 0; !status && i < n; i++)
        compare(&sight->heads[first + i], &sight->info, copies->results + i * sight->info.n_result);
    return status;
}

enum headwise_status headwise_sight_measure(headwise_sight *sight, headwise_context *context,
                                            const struct headwise_sight_call *call) {
    struct copies copies = {.room = {.memory = sight->room.memory}};
    int64_t n_heads = sight->info.n_heads, done = 0;
    enum headwise_status status =
        make_room(&copies, sight, call->max_pass_tokens > 0 ? call->max_pass_tokens : PASS_TOKENS);
    while (!status && done < n_heads) {
        int64_t n = n_heads - done < copies.most ? n_heads - done : copies.most;
        status = run_pass(&copies, sight, context, done, n);
        done += n;
        if (!status && call->progress)
            call->progress(call->user, done);
    }
    headwise_sight_give(&copies.room);
    return status;
}
