#include "panels.h"

#include "alloc.h"
#include "cache.h"
#include "rows.h"

int headwise_block_key_width(const struct headwise_block *block, int64_t c) {
    const struct headwise_plan *plan = block->tile->plan;
    if (plan->call->cache)
        return plan->kernels->nr;
    return headwise_panel_width(plan->kernels, block->n_keys, c);
}

/* This block of a cache, for the tile's kv head. */
static int64_t find_cached(const struct headwise_block *block) {
    const struct headwise_call *call = block->tile->plan->call;
    return headwise_cache_find(call->cache, call->first_sequence + block->tile->batch,
                               block->index);
}

static const char *cached_head(const struct headwise_block *block) {
    return headwise_cache_head(block->tile->plan->call->cache, find_cached(block),
                               block->tile->kv_head);
}

/* The key panel in the cache itself. */
static struct headwise_panel cached_keys(const struct headwise_block *block, int64_t c) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    int64_t dim = cache->head_dim;
    const char *head = cached_head(block);
    const float *scales = (const float *)(const void *)(head + cache->layout.key_scales);
    return (struct headwise_panel){head + c * dim * (int64_t)headwise_dtype_size(cache->dtype),
                                   scales + c * headwise_cache_groups(cache, dim), cache->dtype};
}

/* The value panel in the cache itself, n columns from c on, from row x0 on. */
static struct headwise_panel cached_values(const struct headwise_block *block, int64_t c, int n,
                                           int64_t x0) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    const char *head = cached_head(block), *values = head + cache->layout.values;
    const float *scales = (const float *)(const void *)(head + cache->layout.value_scales) +
                          c / HEADWISE_SCALE_GROUP * HEADWISE_KEY_BLOCK;
    int64_t at = HEADWISE_KEY_BLOCK * c + x0 * n;
    return (struct headwise_panel){values + at * (int64_t)headwise_dtype_size(cache->dtype),
                                   scales + x0, cache->dtype};
}

/* k rows of n columns of a cached panel as f32. */
static void widen(const struct headwise_kernels *kernels, float *dst,
                  const struct headwise_panel *panel, headwise_widen_keys_i8_fn *widen_i8, int n,
                  int64_t k) {
    if (panel->dtype == HEADWISE_F16)
        kernels->widen_f16(dst, panel->data, n * k);
    else if (panel->dtype == HEADWISE_BF16)
        kernels->widen_bf16(dst, panel->data, n * k);
    else
        widen_i8(dst, panel->data, panel->scales, n, k);
}

static void widen_keys(const struct headwise_block *block, float *dst, int64_t c, int n) {
    const struct headwise_plan *plan = block->tile->plan;
    struct headwise_panel panel = cached_keys(block, c);
    widen(plan->kernels, dst, &panel, plan->kernels->widen_keys_i8, n, plan->call->head_dim);
}

/* Packs the key panel of n columns that begins at position c; keys from hi on are left 0. */
static void pack_keys(const struct headwise_block *block, float *panel, int64_t c, int n) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    int n_rows = (int)headwise_max(0, headwise_min(n, block->hi - c));
    struct headwise_rows rows = {NULL, 0, 0};
    if (n_rows > 0)
        rows = headwise_key_rows(plan->kernels, call, &call->k, &call->past_key, tile->batch,
                                 tile->kv_head, block->first_key + c, n_rows,
                                 tile->worker + plan->at_rows);
    if (rows.n < n_rows) /* the past ends within the panel */
        rows = headwise_gather_rows(plan->kernels, call, &call->k, &call->past_key, tile->batch,
                                    tile->kv_head, block->first_key + c, n_rows,
                                    tile->worker + plan->at_rows);
    plan->kernels->pack_transposed(panel, n, rows.data, rows.stride, n_rows, call->head_dim);
}

struct headwise_panel headwise_block_keys(struct headwise_block *block, int64_t c, int n) {
    const struct headwise_plan *plan = block->tile->plan;
    const headwise_cache *cache = plan->call->cache;
    if (cache && (block->streams || cache->dtype == HEADWISE_F32))
        return cached_keys(block, c);
    float *panel =
        block->tile->worker + plan->at_keys + (block->streams ? 0 : plan->call->head_dim * c);
    uint64_t bit = (uint64_t)1 << (c / plan->kernels->nr_min);
    if (block->streams || !(block->packed & bit)) {
        if (cache)
            widen_keys(block, panel, c, n);
        else
            pack_keys(block, panel, c, n);
    }
    block->packed |= bit;
    return (struct headwise_panel){panel, NULL, HEADWISE_F32};
}

/* Rows of values packed at once, all columns of them: 16 KB at 128 columns, read from memory in one
 * go. */
enum { VALUE_ROWS = 32 };

/* Packs the values of positions lo ... hi-1 into panels of KEY_BLOCK rows. */
static void pack_values(struct headwise_block *block) {
    const struct headwise_tile *tile = block->tile;
    const struct headwise_plan *plan = tile->plan;
    const struct headwise_call *call = plan->call;
    float *values = tile->worker + plan->at_values;
    block->values = values;
    block->values_finite = true;
    for (int64_t t = block->lo; t < block->hi;) {
        struct headwise_rows rows = headwise_key_rows(
            plan->kernels, call, &call->v, &call->past_value, tile->batch, tile->kv_head,
            block->first_key + t, headwise_min(block->hi - t, VALUE_ROWS),
            tile->worker + plan->at_rows);
        for (int64_t c = 0; c < call->value_dim; c += plan->kernels->nr) {
            int n = headwise_panel_width(plan->kernels, call->value_dim, c);
            int columns = (int)headwise_min(n, call->value_dim - c);
            block->values_finite &=
                plan->kernels->pack_columns(values + HEADWISE_KEY_BLOCK * c + t * n, n,
                                            rows.data + c, rows.stride, columns, rows.n);
        }
        t += rows.n;
    }
}

static void widen_values(struct headwise_block *block) {
    const struct headwise_plan *plan = block->tile->plan;
    float *values = block->tile->worker + plan->at_values;
    for (int64_t c = 0; c < plan->call->value_dim; c += plan->kernels->nr) {
        int n = headwise_panel_width(plan->kernels, plan->call->value_dim, c);
        struct headwise_panel panel = cached_values(block, c, n, block->lo);
        widen(plan->kernels, values + HEADWISE_KEY_BLOCK * c + block->lo * n, &panel,
              plan->kernels->widen_values_i8, n, block->hi - block->lo);
    }
    block->values = values;
}

void headwise_block_fetch_values(struct headwise_block *block) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    if (block->has_values)
        return;
    block->has_values = true;
    if (!cache) {
        pack_values(block);
        return;
    }
    block->values_finite =
        !cache->unclean[find_cached(block) * cache->n_kv_heads + block->tile->kv_head];
    if (cache->dtype == HEADWISE_F32)
        block->values = (const float *)(const void *)(cached_head(block) + cache->layout.values);
    else if (!block->streams || !block->values_finite)
        widen_values(block);
}

struct headwise_panel headwise_block_values(const struct headwise_block *block, int64_t c, int n,
                                            int64_t x0) {
    if (!block->values)
        return cached_values(block, c, n, x0);
    return (struct headwise_panel){block->values + HEADWISE_KEY_BLOCK * c + x0 * n, NULL,
                                   HEADWISE_F32};
}
