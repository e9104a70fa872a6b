/* Queries and keys of the heads: how alike their maps are, how many directions they use. */
#include "inspect/similarity.h"

#include <string.h>

#include "calls/rank.h"
#include "common/message.h"
#include "headwise/heads.h"

static int project(struct collecting *c) {
    const struct findings *f = c->findings;
    c->q = arena_take(c->arena, f->batch * f->n_heads * f->n_queries * f->head_dim, sizeof *c->q);
    c->k = arena_take(c->arena, f->batch * f->n_kv_heads * f->n_keys * f->head_dim, sizeof *c->k);
    if (!c->q || !c->k)
        return EXIT_UNUSABLE;
    const struct headwise_tensor q =
        headwise_tensor_bhrc(c->q, HEADWISE_F32, f->batch, f->n_heads, f->n_queries, f->head_dim);
    const struct headwise_tensor k =
        headwise_tensor_bhrc(c->k, HEADWISE_F32, f->batch, f->n_kv_heads, f->n_keys, f->head_dim);
    struct headwise_attention_call call = c->opened->call;
    call.q = &q;
    call.k = &k;
    if (headwise_mha_project(c->opened->context, c->mha, &call) != HEADWISE_OK)
        return fail_library(c);
    return EXIT_GOOD;
}

/* The keys as each head reads them, for groups of different sizes; else those of the kv heads. */
static const float *spread_keys(struct collecting *c, int64_t *n_kv_heads) {
    const struct findings *f = c->findings;
    int64_t size = f->n_keys * f->head_dim;
    bool is_even = f->n_heads % f->n_kv_heads == 0;
    for (int64_t h = 0; is_even && h < f->n_heads; h++)
        is_even = f->heads[h].kv_head == h / (f->n_heads / f->n_kv_heads);
    *n_kv_heads = is_even ? f->n_kv_heads : f->n_heads;
    if (is_even)
        return c->k;
    float *spread = arena_take(c->arena, f->batch * f->n_heads * size, sizeof *spread);
    for (int64_t b = 0; spread && b < f->batch; b++) {
        for (int64_t h = 0; h < f->n_heads; h++)
            memcpy(spread + (b * f->n_heads + h) * size,
                   c->k + (b * f->n_kv_heads + f->heads[h].kv_head) * size,
                   (size_t)size * sizeof *spread);
    }
    return spread;
}

static int correlate(struct collecting *c) {
    struct findings *f = c->findings;
    int64_t n_kv_heads;
    const float *keys = spread_keys(c, &n_kv_heads);
    f->correlation = arena_take(c->arena, f->n_heads * f->n_heads, sizeof *f->correlation);
    if (!keys || !f->correlation)
        return EXIT_UNUSABLE;
    const struct headwise_tensor q =
        headwise_tensor_bhrc(c->q, HEADWISE_F32, f->batch, f->n_heads, f->n_queries, f->head_dim);
    const struct headwise_tensor k =
        headwise_tensor_bhrc(keys, HEADWISE_F32, f->batch, n_kv_heads, f->n_keys, f->head_dim);
    struct headwise_attention_call call = c->opened->call;
    call.q = &q;
    call.k = &k;
    if (headwise_map_correlation(c->opened->context, f->correlation, &call) != HEADWISE_OK)
        return fail_library(c);
    return EXIT_GOOD;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int find_ranks(struct collecting *c) {
    struct findings *f = c->findings;
    for (int64_t h = 0; h < f->n_heads; h++) {
        struct head_findings *head = &f->heads[h];
        int64_t at = f->entry * f->n_heads + h;
        int64_t kv_at = f->entry * f->n_kv_heads + head->kv_head;
        head->logit_rank = product_rank(c->q + at * f->n_queries * f->head_dim, f->n_queries,
                                        c->k + kv_at * f->n_keys * f->head_dim, f->n_keys,
                                        f->head_dim, f->head_dim);
        head->output_rank = matrix_rank(c->head_outputs + at * f->n_queries * f->value_dim,
                                        f->n_queries, f->value_dim, f->value_dim);
        head->most_logits = least(f->head_dim, least(f->n_queries, f->n_keys));
        head->most_outputs = least(f->value_dim, least(f->n_queries, f->n_keys));
        if (head->logit_rank == RANK_NO_MEMORY || head->output_rank == RANK_NO_MEMORY)
            return fail("%s: %s", c->path, rank_failure_text(RANK_NO_MEMORY));
    }
    return EXIT_GOOD;
}

int collect_similarity(struct collecting *c) {
    int code = project(c);
    if (!code)
        code = correlate(c);
    return code ? code : find_ranks(c);
}
