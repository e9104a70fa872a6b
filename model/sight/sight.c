/* Looks at a text: tokens, the forward with its probes, copies without heads, twins. */
#include "sight/sight.h"

#include <string.h>

#include "base/error.h"

static const char where[] = "sight_create";

enum { CELLS = 128, MOST_CELLS = 4096 };

const char *headwise_head_kind_name(enum headwise_head_kind kind) {
    static const char *const names[HEADWISE_KINDS] = {"self",     "previous",    "next",
                                                      "first",    "separator",   "word",
                                                      "repeated", "punctuation", "broad"};
    return (unsigned)kind < HEADWISE_KINDS ? names[kind] : NULL;
}

void *headwise_sight_take(struct headwise_sight_room *room, int64_t count, size_t item_bytes) {
    size_t n = count > 0 ? (size_t)count : 1;
    if (room->n == sizeof room->pieces / sizeof *room->pieces)
        return NULL;
    void *at = headwise_memory_take(room->memory, n, item_bytes);
    if (at) {
        memset(at, 0, n * item_bytes);
        room->pieces[room->n].at = at;
        room->pieces[room->n].count = n;
        room->pieces[room->n++].item_bytes = item_bytes;
    }
    return at;
}

void headwise_sight_give(struct headwise_sight_room *room) {
    while (room->n > 0) {
        room->n--;
        headwise_memory_give(room->memory, room->pieces[room->n].at, room->pieces[room->n].count,
                             room->pieces[room->n].item_bytes);
    }
}

static enum headwise_status check(const headwise_context *context, const headwise_encoder *encoder,
                                  const struct headwise_sight_call *call) {
    if (!context || !encoder || !call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                                   !context   ? "context"
                                   : !encoder ? "encoder"
                                              : "call");
    if (call->size != sizeof *call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: call.size is %zu, expected %zu",
                                   where, call->size, sizeof *call);
    if (call->most_cells < 0 || call->most_cells > MOST_CELLS)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: most_cells is %lld, expected 0 to %d",
                                   where, (long long)call->most_cells, MOST_CELLS);
    if (call->max_pass_tokens < 0 || call->max_pass_tokens > INT32_MAX / 2)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: max_pass_tokens is %lld, expected 0 to %ld", where,
                                   (long long)call->max_pass_tokens, (long)(INT32_MAX / 2));
    if (headwise_transformer_describe(encoder->transformer)->n_patches > 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: the network reads images", where);
    return HEADWISE_OK;
}

/* Arrays for what is kept, once the number of tokens is known. */
static enum headwise_status make_room(headwise_sight *sight, int64_t most_cells) {
    const headwise_encoder *encoder = sight->encoder;
    const struct headwise_transformer_info *network =
        headwise_transformer_describe(encoder->transformer);
    struct headwise_sight_info *info = &sight->info;
    info->n_layers = network->n_layers;
    info->is_logits = encoder->n_poolings == 0;
    info->n_result = info->is_logits ? encoder->info.n_labels : encoder->info.d_vector;
    info->cell_tokens = (info->n_tokens + most_cells - 1) / most_cells;
    info->n_cells = (info->n_tokens + info->cell_tokens - 1) / info->cell_tokens;
    sight->first_heads =
        headwise_sight_take(&sight->room, info->n_layers, sizeof *sight->first_heads);
    if (!sight->first_heads)
        return headwise_model_no_memory(where);
    for (int64_t i = 0; i < info->n_layers; i++) {
        sight->first_heads[i] = info->n_heads;
        info->n_heads += network->n_heads[i];
    }
    sight->heads = headwise_sight_take(&sight->room, info->n_heads, sizeof *sight->heads);
    sight->maps = headwise_sight_take(&sight->room, info->n_heads * info->n_cells * info->n_cells,
                                      sizeof *sight->maps);
    sight->result = headwise_sight_take(&sight->room, info->n_result, sizeof *sight->result);
    info->tokens = sight->tokens;
    info->heads = sight->heads;
    info->maps = sight->maps;
    info->result = sight->result;
    return sight->heads && sight->maps && sight->result ? HEADWISE_OK
                                                        : headwise_model_no_memory(where);
}

static enum headwise_status look(headwise_sight *sight, headwise_context *context,
                                 const struct headwise_sight_call *call) {
    enum headwise_status status = headwise_sight_read(sight, call);
    if (!status)
        status = make_room(sight, call->most_cells > 0 ? call->most_cells : CELLS);
    if (!status)
        status = headwise_sight_look(sight, context, call);
    if (!status && !call->without_change)
        status = headwise_sight_measure(sight, context, call);
    if (!status && !call->without_twins)
        status = headwise_sight_correlate(sight);
    sight->info.size = sizeof sight->info;
    sight->info.correlations = sight->correlations;
    return status;
}

enum headwise_status headwise_sight_create(headwise_sight **sight, headwise_context *context,
                                           const headwise_encoder *encoder,
                                           const struct headwise_sight_call *call) {
    if (!sight)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: sight is NULL", where);
    enum headwise_status status = check(context, encoder, call);
    if (status)
        return status;
    headwise_sight *made = headwise_memory_take(&encoder->memory, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory(where);
    *made = (headwise_sight){.encoder = encoder, .room = {.memory = &encoder->memory}};
    status = look(made, context, call);
    if (status)
        headwise_sight_destroy(made);
    else
        *sight = made;
    return status;
}

void headwise_sight_destroy(headwise_sight *sight) {
    if (!sight)
        return;
    const struct headwise_allocator *memory = sight->room.memory;
    headwise_encoding_destroy(sight->encoding);
    headwise_sight_give(&sight->room);
    headwise_memory_give(memory, sight, 1, sizeof *sight);
}

const struct headwise_sight_info *headwise_sight_describe(const headwise_sight *sight) {
    return &sight->info;
}
