/* Makes layers and runs them with probes, for the experiments. */
#include "layer.h"

#include <string.h>

#include "random.h"
#include "report.h"

headwise_mha *layer_create(headwise_context *context, const struct layer *layer) {
    const struct headwise_mha_config config = {.size = sizeof config,
                                               .d_model = layer->width,
                                               .n_heads = layer->heads,
                                               .n_kv_heads = layer->kv_heads,
                                               .head_dim = layer->dim,
                                               .layout = HEADWISE_IN_OUT,
                                               .w_q = layer->w_q,
                                               .w_k = layer->w_k,
                                               .w_v = layer->w_v,
                                               .w_o = layer->w_o};
    headwise_mha *mha = NULL;
    must(headwise_mha_create(&mha, context, &config));
    return mha;
}

void layer_run(headwise_context *context, const headwise_mha *mha, const struct layer *layer,
               const float *gates, struct seen *seen) {
    const struct headwise_probe probe = {.size = sizeof probe,
                                         .weights = seen->weights,
                                         .scores = seen->scores,
                                         .head_outputs = seen->head_outputs,
                                         .contributions = seen->contributions};
    struct headwise_tensor x =
        headwise_tensor_brhc(layer->x, HEADWISE_F32, 1, layer->rows, 1, layer->width);
    struct headwise_tensor y =
        headwise_tensor_brhc(seen->y, HEADWISE_F32, 1, layer->rows, 1, layer->width);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &y, .x = &x, .head_gates = gates, .probe = &probe};
    must(headwise_mha_forward(context, mha, &call));
}

void layer_see(headwise_context *context, const struct layer *layer, struct seen *seen) {
    headwise_mha *mha = layer_create(context, layer);
    layer_run(context, mha, layer, NULL, seen);
    headwise_mha_destroy(mha);
}

void layer_correlation(headwise_context *context, const headwise_mha *mha,
                       const struct layer *layer, double *correlation) {
    static float queries[MOST_ROWS * MOST_WIDTH], keys[MOST_ROWS * MOST_WIDTH];
    struct headwise_tensor x =
        headwise_tensor_brhc(layer->x, HEADWISE_F32, 1, layer->rows, 1, layer->width);
    struct headwise_tensor q =
        headwise_tensor_brhc(queries, HEADWISE_F32, 1, layer->rows, layer->heads, layer->dim);
    struct headwise_tensor k =
        headwise_tensor_brhc(keys, HEADWISE_F32, 1, layer->rows, layer->kv_heads, layer->dim);
    const struct headwise_attention_call call = {.size = sizeof call, .q = &q, .k = &k, .x = &x};
    must(headwise_mha_project(context, mha, &call));
    must(headwise_map_correlation(context, correlation, &call));
}

void layer_of_004(struct layer *layer, int64_t heads) {
    struct default_rng rng;
    const int64_t width = 64;
    layer->rows = 12;
    layer->width = width;
    layer->heads = layer->kv_heads = heads;
    layer->dim = width / heads;
    default_seed(&rng, 0);
    default_fill(&rng, layer->x, layer->rows * width, 1);
    default_fill(&rng, layer->w_q, width * width, 0.05);
    default_fill(&rng, layer->w_k, width * width, 0.05);
    default_fill(&rng, layer->w_v, width * width, 0.05);
    default_fill(&rng, layer->w_o, width * width, 0.05);
}

int64_t split_sentence(char *sentence, const char *tokens[MOST_ROWS], int64_t ids[MOST_ROWS]) {
    int64_t n = 0, different = 0;
    for (char *t = strtok(sentence, " "); t && n < MOST_ROWS; t = strtok(NULL, " "), n++) {
        tokens[n] = t;
        ids[n] = -1;
        for (int64_t i = 0; i < n && ids[n] < 0; i++)
            ids[n] = strcmp(tokens[i], t) == 0 ? ids[i] : -1;
        if (ids[n] < 0)
            ids[n] = different++;
    }
    return n;
}

void embed_words(float *x, int64_t width, const int64_t *ids, int64_t n, uint32_t seed, double sd) {
    struct legacy_rng rng;
    legacy_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        int64_t first = 0;
        while (ids[first] != ids[i])
            first++;
        if (first == i)
            legacy_fill(&rng, x + i * width, width, sd);
        else
            memcpy(x + i * width, x + first * width, (size_t)width * sizeof *x);
    }
}

int64_t strongest_key(const float *map, int64_t i, int64_t n, bool others_only) {
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++) {
        if (!(others_only && j == i) && (best < 0 || map[i * n + j] > map[i * n + best]))
            best = j;
    }
    return best;
}
