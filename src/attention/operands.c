/* Packs a block's keys and values, widens them, or finds them where they lie. */
#include "attention/operands.h"

#include "attention/key_rows.h"
#include "base/alloc.h"
#include "cache/cache.h"
#include "kernels/panel.h"
#include "tensors/rows.h"

/* Whether keys are read in the cache itself. */
static bool reads_cached_keys(const struct headwise_block *block) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    return cache && (block->streams || cache->dtype == HEADWISE_F32);
}

int64_t headwise_block_key_width(const struct headwise_block *block, int64_t c, int64_t end) {
    const struct headwise_plan *plan = block->tile->plan;
    if (!plan->call->cache)
        return headwise_panel_width(plan->kernels, block->n_keys, c);
    if (!reads_cached_keys(block) || plan->keeps_weights)
        return plan->kernels->nr;
    return headwise_round_up(end - c, plan->kernels->nr);
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

/* The key panels from position c on in the cache itself. */
static struct headwise_panels cached_keys(const struct headwise_block *block, int64_t c) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    int64_t dim = cache->head_dim, nr = cache->kernels->nr;
    int64_t groups = headwise_cache_groups(cache, dim);
    const char *head = cached_head(block);
    const float *scales = (const float *)(const void *)(head + cache->layout.key_scales);
    return (struct headwise_panels){
        {.data = head + c * dim * (int64_t)headwise_dtype_size(cache->dtype),
         .row_stride = nr,
         .panel_stride = nr * dim,
         .scales = scales + c * groups,
         .scales_stride = nr * groups},
        cache->dtype};
}

/* The value panels in the cache itself, n columns from c on, from row x0 on. */
static struct headwise_panels cached_values(const struct headwise_block *block, int64_t c,
                                            int64_t n, int64_t x0) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    const char *head = cached_head(block), *values = head + cache->layout.values;
    const float *scales = (const float *)(const void *)(head + cache->layout.value_scales) +
                          c / HEADWISE_SCALE_GROUP * HEADWISE_KEY_BLOCK;
    int64_t nr = cache->kernels->nr, width = headwise_min(n, nr);
    int64_t at = HEADWISE_KEY_BLOCK * c + x0 * width;
    return (struct headwise_panels){
        {.data = values + at * (int64_t)headwise_dtype_size(cache->dtype),
         .row_stride = width,
         .panel_stride = HEADWISE_KEY_BLOCK * nr,
         .scales = scales + x0,
         .scales_stride = HEADWISE_KEY_BLOCK},
        cache->dtype};
}

struct headwise_panels headwise_value_panels(const struct headwise_kernels *kernels,
                                             const float *values, int64_t c, int64_t n,
                                             int64_t x0) {
    int64_t width = headwise_min(n, kernels->nr);
    return (struct headwise_panels){{.data = values + HEADWISE_KEY_BLOCK * c + x0 * width,
                                     .row_stride = width,
                                     .panel_stride = HEADWISE_KEY_BLOCK * (int64_t)kernels->nr},
                                    HEADWISE_F32};
}

/* k rows of n columns of a cached panel as f32. */
static void widen(const struct headwise_kernels *kernels, float *dst,
                  const struct headwise_panels *panel, headwise_widen_keys_i8_fn *widen_i8, int n,
                  int64_t k) {
    const void *data = panel->columns.data;
    if (panel->dtype == HEADWISE_I8)
        widen_i8(dst, data, panel->columns.scales, n, k);
    else
        kernels->widen[panel->dtype](dst, data, n * k);
}

static void widen_keys(const struct headwise_block *block, float *dst, int64_t c, int n) {
    const struct headwise_plan *plan = block->tile->plan;
    struct headwise_panels panel = cached_keys(block, c);
    widen(plan->kernels, dst, &panel, plan->kernels->widen_keys_i8, n, plan->call->head_dim);
}

/* Where a packed panel goes, and whether it is there already. */
static bool find_packed(struct headwise_block *block, float **panel, int64_t c) {
    const struct headwise_plan *plan = block->tile->plan;
    uint64_t bit = (uint64_t)1 << (c / plan->kernels->nr_min);
    bool found = !block->streams && block->packed & bit;
    *panel = block->tile->worker + plan->at_keys + (block->streams ? 0 : plan->call->head_dim * c);
    block->packed |= bit;
    return found;
}

/* Keys from hi on are packed as 0. */
struct headwise_panels headwise_block_keys(struct headwise_block *block, int64_t c, int64_t n) {
    const struct headwise_plan *plan = block->tile->plan;
    float *panel;
    if (reads_cached_keys(block))
        return cached_keys(block, c);
    if (find_packed(block, &panel, c)) {
        /* A pass before this one packed it. */
    } else if (plan->call->cache) {
        widen_keys(block, panel, c, (int)n);
    } else {
        const struct headwise_key_source source = headwise_tile_keys(block->tile);
        int64_t first = block->first_key + c;
        int n_rows = (int)headwise_max(0, headwise_min(n, block->hi - c));
        struct headwise_f32_rows rows = {NULL, 0, 0};
        if (n_rows > 0)
            rows = headwise_key_rows(&source, first, n_rows);
        if (rows.n < n_rows) /* the past ends within the panel */
            rows = headwise_gather_rows(&source, first, n_rows);
        plan->kernels->pack_transposed(panel, (int)n, rows.data, rows.stride, n_rows,
                                       plan->call->head_dim);
    }
    return (struct headwise_panels){{.data = panel, .row_stride = n}, HEADWISE_F32};
}

/* Most rows of a tile whose products transpose keys instead of packing them (kernels.h). */
enum { KEY_ROWS = 4 };

bool headwise_block_takes_key_rows(const struct headwise_block *block) {
    return !block->tile->plan->call->cache && block->tile->n_rows <= KEY_ROWS;
}

/* Finds the values in the caller's memory, but for columns that do not fill a panel. */
static void find_rows(struct headwise_block *block) {
    const struct headwise_plan *plan = block->tile->plan;
    const struct headwise_call *call = plan->call;
    int64_t rest = call->value_dim % plan->kernels->nr;
    block->rows = (struct headwise_f32_rows){NULL, 0, 0};
    block->packed_from = 0;
    if (!block->streams || call->v.dtype != HEADWISE_F32 || call->past_value.dtype != HEADWISE_F32)
        return;
    const struct headwise_key_source source = headwise_tile_values(block->tile);
    struct headwise_f32_rows rows =
        headwise_key_rows(&source, block->first_key + block->lo, block->hi - block->lo);
    if (rows.n < block->hi - block->lo || rows.stride < call->value_dim)
        return;
    block->rows = rows;
    block->packed_from =
        rest % plan->kernels->nr_min == 0 ? call->value_dim : call->value_dim - rest;
}

/* Rows of values packed at once, all columns of them: 16 KB at 128 columns, read from memory in one
 * go. */
enum { VALUE_ROWS = 32 };

/* Packs the values of positions lo ... hi-1, columns from packed_from on, into panels of KEY_BLOCK
 * rows. Returns whether they are finite. */
static bool pack_values(struct headwise_block *block) {
    const struct headwise_plan *plan = block->tile->plan;
    const struct headwise_kernels *kernels = plan->kernels;
    float *values = block->tile->worker + plan->at_values;
    int64_t value_dim = plan->call->value_dim;
    const struct headwise_key_source source = headwise_tile_values(block->tile);
    bool finite = true;
    block->values = values;
    for (int64_t t = block->lo; t < block->hi && block->packed_from < value_dim;) {
        struct headwise_f32_rows rows = headwise_key_rows(&source, block->first_key + t,
                                                          headwise_min(block->hi - t, VALUE_ROWS));
        for (int64_t c = block->packed_from; c < value_dim; c += kernels->nr) {
            int n = headwise_panel_width(kernels, value_dim, c);
            int columns = (int)headwise_min(n, value_dim - c);
            finite &= kernels->pack_columns(values + HEADWISE_KEY_BLOCK * c + t * n, n,
                                            rows.data + c, rows.stride, columns, rows.n);
        }
        t += rows.n;
    }
    return finite;
}

static void widen_values(struct headwise_block *block) {
    const struct headwise_plan *plan = block->tile->plan;
    float *values = block->tile->worker + plan->at_values;
    for (int64_t c = 0; c < plan->call->value_dim; c += plan->kernels->nr) {
        int n = headwise_panel_width(plan->kernels, plan->call->value_dim, c);
        struct headwise_panels panel = cached_values(block, c, n, block->lo);
        widen(plan->kernels, values + HEADWISE_KEY_BLOCK * c + block->lo * n, &panel,
              plan->kernels->widen_values_i8, n, block->hi - block->lo);
    }
    block->values = values;
}

static void fetch_cached_values(struct headwise_block *block) {
    const headwise_cache *cache = block->tile->plan->call->cache;
    block->has_values = true;
    block->values_finite =
        !cache->unclean[find_cached(block) * cache->n_kv_heads + block->tile->kv_head];
    if (cache->dtype == HEADWISE_F32)
        block->values = (const float *)(const void *)(cached_head(block) + cache->layout.values);
    else if (!block->streams || !block->values_finite)
        widen_values(block);
}

/* Where a key is hidden from some row, all values of tensors are packed, and looked at. */
void headwise_block_fetch_values(struct headwise_block *block, bool hides) {
    if (block->has_values && !(hides && block->rows.data))
        return;
    if (block->tile->plan->call->cache) {
        fetch_cached_values(block);
        return;
    }
    block->has_values = true;
    block->packed_from = 0;
    block->rows = (struct headwise_f32_rows){NULL, 0, 0};
    if (!hides)
        find_rows(block);
    block->values_finite = pack_values(block) || block->rows.data;
}

struct headwise_panels headwise_block_values(const struct headwise_block *block, int64_t c,
                                             int64_t n, int64_t x0) {
    if (block->rows.data && c < block->packed_from)
        return (struct headwise_panels){
            {.data = block->rows.data + (x0 - block->lo) * block->rows.stride + c,
             .row_stride = block->rows.stride,
             .panel_stride = block->tile->plan->kernels->nr},
            HEADWISE_F32};
    if (!block->values)
        return cached_values(block, c, n, x0);
    return headwise_value_panels(block->tile->plan->kernels, block->values, c, n, x0);
}
