/* One forward with the probes of every layer in turn, in the arrays of a single one. */
#include <math.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "sight/sight.h"
#include "stack/transformer.h"

/* What layers write, and what is made of it. */
struct look {
    headwise_sight *sight;
    headwise_context *context;
    const struct headwise_sight_call *call;
    struct headwise_sight_room room; /* until the forward ends */
    struct headwise_sight_keys *keys;
    struct headwise_probe *probes; /* [n_layers] */
    struct headwise_statistics statistics;
    float *weights, *outputs; /* of the layer that ran last */
    float *hidden;            /* [n_layers][n_tokens][d_model]: states that enter */
    int64_t *layers;
    float *last; /* [n_tokens][d_model], or NULL */
    double *gram, *norms, *shares;
};

static double mean_of(const float *values, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)values[i];
    return sum / (double)n;
}

static double norm_of(const float *values, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* Adds the map, folded into cells, to one of zeros: sums over keys, means over queries. */
static void fold(float *cells, const struct headwise_sight_info *info, const float *map) {
    int64_t n = info->n_tokens, side = info->n_cells, size = info->cell_tokens;
    for (int64_t row = 0; row < side; row++) {
        int64_t first = row * size, behind = first + size < n ? first + size : n;
        for (int64_t column = 0; column < side; column++) {
            int64_t end = (column + 1) * size < n ? (column + 1) * size : n;
            double sum = 0;
            for (int64_t i = first; i < behind; i++)
                for (int64_t j = column * size; j < end; j++)
                    sum += (double)map[i * n + j];
            cells[row * side + column] = (float)(sum / (double)(behind - first));
        }
    }
}

/* A head's means, its map and its kinds. */
static void see_head(struct look *look, int64_t layer, int64_t h) {
    headwise_sight *sight = look->sight;
    const struct headwise_statistics *s = &look->statistics;
    int64_t n = sight->info.n_tokens, at = h * n, place = sight->first_heads[layer] + h;
    int64_t n_cells = sight->info.n_cells * sight->info.n_cells;
    struct headwise_sight_head *head = &sight->heads[place];
    const float *map = look->weights + at * n;
    *head = (struct headwise_sight_head){
        .layer = layer,
        .head = h,
        .entropy = mean_of(s->entropy + at, n),
        .largest = mean_of(s->largest + at, n),
        .distance = mean_of(s->mean_distance + at, n),
        .self = mean_of(s->self_weight + at, n),
        .previous = mean_of(s->previous_weight + at, n),
        .next = mean_of(s->next_weight + at, n),
        .first = mean_of(s->first_weight + at, n),
        .change = (double)NAN,
        .cosine = (double)NAN,
        .delta = (double)NAN,
        .twin = -1,
    };
    headwise_sight_score(head, look->keys, sight, map, s->entropy + at);
    fold(sight->maps + place * n_cells, &sight->info, map);
}

/* What the heads of a layer add, against each other and against what is there. */
static enum headwise_status weigh_heads(struct look *look, int64_t layer) {
    const headwise_transformer *network = look->sight->encoder->transformer;
    const headwise_mha *mha = headwise_checkpoint_layer_mha(network->blocks[layer].attention);
    int64_t n = look->sight->info.n_tokens, n_heads = network->info.n_heads[layer];
    int64_t n_states = n * network->info.d_model;
    double states = norm_of(look->hidden + layer * n_states, n_states);
    enum headwise_status status = headwise_stack_core(
        headwise_contribution_gram(look->context, mha, look->gram, look->outputs, 1, n));
    if (status)
        return status;
    headwise_gram_norms(look->norms, look->gram, n_heads);
    headwise_gram_shares(look->shares, look->gram, n_heads);
    for (int64_t h = 0; h < n_heads; h++) {
        struct headwise_sight_head *head = &look->sight->heads[look->sight->first_heads[layer] + h];
        head->norm = look->norms[h] / sqrt((double)n);
        head->share = look->shares[h];
        head->residual = states > 0 ? look->norms[h] / states : 0;
    }
    return HEADWISE_OK;
}

static enum headwise_status see_layer(void *user, int64_t layer) {
    HEADWISE_FLOAT_SCOPE();
    struct look *look = user;
    int64_t n_heads = look->sight->encoder->transformer->info.n_heads[layer];
    for (int64_t h = 0; h < n_heads; h++)
        see_head(look, layer, h);
    if (look->call->maps)
        look->call->maps(look->call->user, layer, look->weights);
    return weigh_heads(look, layer);
}

/* Arrays of the largest layer, and the probes that name them. */
static enum headwise_status make_room(struct look *look) {
    const headwise_transformer *network = look->sight->encoder->transformer;
    struct headwise_sight_room *room = &look->room;
    int64_t most = network->info.most_heads, n = look->sight->info.n_tokens, width = 1;
    int64_t n_layers = network->info.n_layers, n_states = n * network->info.d_model;
    for (int64_t i = 0; i < n_layers; i++) {
        const headwise_mha *mha = headwise_checkpoint_layer_mha(network->blocks[i].attention);
        int64_t of_layer = headwise_mha_describe(mha)->value_dim;
        width = of_layer > width ? of_layer : width;
    }
    int64_t *strongest = headwise_sight_take(room, most * n, sizeof *strongest);
    float *rows = headwise_sight_take(room, 7 * most * n, sizeof *rows);
    look->weights = headwise_sight_take(room, most * n * n, sizeof *look->weights);
    look->outputs = headwise_sight_take(room, most * n * width, sizeof *look->outputs);
    look->probes = headwise_sight_take(room, n_layers, sizeof *look->probes);
    look->layers = headwise_sight_take(room, n_layers, sizeof *look->layers);
    look->hidden = headwise_sight_take(room, n_layers * n_states, sizeof *look->hidden);
    look->last = headwise_sight_take(room, n_states, sizeof *look->last);
    look->gram = headwise_sight_take(room, most * most + 2 * most, sizeof *look->gram);
    if (!strongest || !rows || !look->weights || !look->outputs || !look->probes || !look->layers ||
        !look->hidden || !look->last || !look->gram)
        return headwise_model_no_memory("sight_create");
    look->norms = look->gram + most * most;
    look->shares = look->norms + most;
    look->statistics = (struct headwise_statistics){.size = sizeof look->statistics,
                                                    .entropy = rows,
                                                    .largest = rows + most * n,
                                                    .strongest = strongest,
                                                    .mean_distance = rows + 2 * most * n,
                                                    .self_weight = rows + 3 * most * n,
                                                    .previous_weight = rows + 4 * most * n,
                                                    .next_weight = rows + 5 * most * n,
                                                    .first_weight = rows + 6 * most * n};
    for (int64_t i = 0; i < n_layers; i++) {
        look->layers[i] = i;
        look->probes[i] = (struct headwise_probe){.size = sizeof *look->probes,
                                                  .weights = look->weights,
                                                  .head_outputs = look->outputs,
                                                  .statistics = &look->statistics};
    }
    return headwise_sight_list_keys(&look->keys, room, look->sight);
}

static enum headwise_status run(struct look *look) {
    headwise_sight *sight = look->sight;
    const headwise_transformer *network = sight->encoder->transformer;
    const int32_t starts[] = {0, (int32_t)sight->info.n_tokens};
    const struct headwise_transformer_call call = {.size = sizeof call,
                                                   .n_sequences = 1,
                                                   .starts = starts,
                                                   .ids = sight->ids,
                                                   .types = sight->types,
                                                   .last_hidden = look->last,
                                                   .n_hidden = network->info.n_layers,
                                                   .hidden_layers = look->layers,
                                                   .hidden = look->hidden,
                                                   .logits =
                                                       sight->info.is_logits ? sight->result : NULL,
                                                   .probes = look->probes,
                                                   .layer_done = see_layer,
                                                   .layer_user = look};
    enum headwise_status status =
        headwise_transformer_forward(look->context, sight->encoder->transformer, &call);
    float *vectors = headwise_sight_take(&look->room, 2 * sight->encoder->width, sizeof *vectors);
    if (!status && !vectors)
        status = headwise_model_no_memory("sight_create");
    if (!status && !sight->info.is_logits)
        status = headwise_sight_results(look->context, sight, sight->result, vectors, look->last,
                                        starts, 1);
    return status;
}

enum headwise_status headwise_sight_look(headwise_sight *sight, headwise_context *context,
                                         const struct headwise_sight_call *call) {
    struct look look = {
        .sight = sight, .context = context, .call = call, .room = {.memory = sight->room.memory}};
    enum headwise_status status = make_room(&look);
    if (!status)
        status = run(&look);
    headwise_sight_give(&look.room);
    return status;
}
