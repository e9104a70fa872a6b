/* The order of the steps, and what sizes alone tell: costs, and who reads which keys. */
#include "inspect/collect.h"

#include "common/message.h"
#include "inspect/forward.h"
#include "inspect/maps.h"
#include "inspect/similarity.h"

/* Sizes, and which kv head each head reads. */
static int describe(struct collecting *c) {
    struct findings *f = c->findings;
    const struct layer_input *layer = &c->opened->layer;
    f->n_heads = headwise_mha_describe(c->mha)->n_heads;
    f->n_kv_heads = headwise_mha_describe(c->mha)->n_kv_heads;
    f->head_dim = headwise_mha_describe(c->mha)->head_dim;
    f->value_dim = headwise_mha_describe(c->mha)->value_dim;
    f->d_model = headwise_mha_describe(c->mha)->d_model;
    f->d_out = headwise_mha_describe(c->mha)->d_out;
    f->batch = layer->batch;
    f->entry = c->request->entry;
    f->n_queries = layer->n_queries;
    f->n_keys = layer->n_keys;
    f->is_self = !layer->has_memory;
    f->causal = c->opened->attention.causal;
    f->offset = f->causal == HEADWISE_CAUSAL_BOTTOM_RIGHT ? f->n_keys - f->n_queries : 0;
    if (f->n_heads == 0 || f->batch == 0 || f->n_queries == 0 || f->n_keys == 0)
        return fail("%s: %lld heads, %lld tokens and %lld keys, expected some of each to look at",
                    c->path, (long long)f->n_heads, (long long)(f->batch * f->n_queries),
                    (long long)f->n_keys);
    if (f->entry >= f->batch)
        return fail("option --entry is %lld, expected 0 to %lld", (long long)f->entry,
                    (long long)f->batch - 1);
    f->heads = arena_take(c->arena, f->n_heads, sizeof *f->heads);
    if (!f->heads)
        return EXIT_UNUSABLE;
    const int64_t *numbers = headwise_mha_describe(c->mha)->head_numbers;
    for (int64_t g = 0, h = 0; g < f->n_kv_heads; g++) {
        for (int64_t end = h + headwise_mha_describe(c->mha)->group_sizes[g]; h < end; h++) {
            f->heads[h].number = numbers[h];
            f->heads[h].kv_head = g;
        }
    }
    return EXIT_GOOD;
}

/* Multiply-adds: projections of queries, scores, values, the rows of W_O, and an equal part of its
 * kv head's projections. */
static void count_costs(struct collecting *c) {
    struct findings *f = c->findings;
    double queries = (double)f->n_queries, visible = 0, all = 0;
    for (int64_t i = 0; i < f->n_queries; i++)
        visible += (double)count_visible(f, &c->opened->attention, i + f->offset);
    double own = queries * (double)(f->d_model * f->head_dim + f->value_dim * f->d_out) +
                 visible * (double)(f->head_dim + f->value_dim);
    double keys = (double)f->n_keys * (double)headwise_mha_describe(c->mha)->d_memory *
                  (double)(f->head_dim + f->value_dim);
    for (int64_t h = 0; h < f->n_heads; h++) {
        struct head_findings *head = &f->heads[h];
        head->cost = own + keys / (double)headwise_mha_describe(c->mha)->group_sizes[head->kv_head];
        all += head->cost;
    }
    for (int64_t h = 0; h < f->n_heads; h++)
        f->heads[h].cost /= all;
}

static int weigh(struct collecting *c) {
    int code = describe(c);
    if (code)
        return code;
    count_costs(c);
    return collect_outputs(c);
}

static int collect(struct collecting *c) {
    int code = weigh(c);
    if (!code)
        code = collect_similarity(c);
    return code ? code : collect_maps(c);
}

static int run(struct collecting *c, int (*steps)(struct collecting *)) {
    if (headwise_mha_create(&c->mha, c->opened->context, &c->opened->layer.config) != HEADWISE_OK)
        return fail_library(c);
    int code = steps(c);
    headwise_mha_destroy(c->mha);
    return code;
}

int findings_collect(struct findings *findings, struct arena *arena, struct layer_opened *opened,
                     const char *path, const struct findings_request *request) {
    struct collecting c = {findings, arena, opened, path, request, NULL, NULL, NULL, NULL};
    return run(&c, collect);
}

int findings_weigh(struct findings *findings, struct arena *arena, struct layer_opened *opened,
                   const char *path) {
    static const struct findings_request request;
    struct collecting c = {findings, arena, opened, path, &request, NULL, NULL, NULL, NULL};
    return run(&c, weigh);
}
