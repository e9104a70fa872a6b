/* Which blocks a sequence owns: shared until one of the owners writes. */
#include <string.h>

#include "base/alloc.h"
#include "cache/cache.h"
#include "kernels/panel.h"

int64_t headwise_cache_held_after(const headwise_cache *cache, int64_t sequence, int64_t n) {
    int64_t held_from = cache->held_from[sequence];
    int64_t length = cache->lengths[sequence] + n;
    if (n == 0)
        return held_from;
    int64_t last = (length - 1) / HEADWISE_KEY_BLOCK;
    int64_t oldest = last - (cache->n_slots - cache->n_pinned) + 1;
    return last < cache->n_pinned ? held_from
                                  : headwise_max(held_from, oldest * HEADWISE_KEY_BLOCK);
}

int64_t headwise_cache_needed_from(const headwise_cache *cache, int64_t length) {
    return headwise_max(length - cache->window + 1, headwise_cache_pinned_keys(cache));
}

static void let_go(headwise_cache *cache, int64_t *entry) {
    if (*entry >= 0)
        cache->owners[*entry]--;
    *entry = -1;
}

/* A block without owners. There always is one: other entries of the table name at most n_blocks - 1
 * blocks. A sequence's own place comes first, so that its blocks lie side by side. */
static int64_t find_free(const headwise_cache *cache, int64_t home) {
    int64_t block = home;
    while (cache->owners[block] > 0)
        block = block + 1 < cache->n_blocks ? block + 1 : 0;
    return block;
}

static void take(headwise_cache *cache, int64_t *entry) {
    let_go(cache, entry);
    *entry = find_free(cache, entry - cache->table);
    cache->owners[*entry] = 1;
    memset(cache->unclean + *entry * cache->n_kv_heads, 0, (size_t)cache->n_kv_heads);
}

/* The first n_rows keys and values of a block: whole key panels, and the rows of each value panel.
 */
static void copy_block(headwise_cache *cache, int64_t to, int64_t from, int64_t n_rows) {
    const struct headwise_kernels *kernels = cache->kernels;
    const struct headwise_cache_layout *layout = &cache->layout;
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t keys = headwise_round_up(n_rows, kernels->nr);
    int64_t key_groups = headwise_cache_groups(cache, cache->head_dim);
    int64_t value_groups = headwise_cache_groups(cache, cache->value_dim);
    for (int64_t g = 0; g < cache->n_kv_heads; g++) {
        char *dst = headwise_cache_head(cache, to, g);
        const char *src = headwise_cache_head(cache, from, g);
        memcpy(dst, src, (size_t)(keys * cache->head_dim * size));
        memcpy(dst + layout->key_scales, src + layout->key_scales, (size_t)(keys * key_groups * 4));
        for (int64_t c = 0; c < cache->value_dim; c += kernels->nr) {
            int64_t at = layout->values + HEADWISE_KEY_BLOCK * c * size;
            int64_t n = headwise_panel_width(kernels, cache->value_dim, c);
            memcpy(dst + at, src + at, (size_t)(n_rows * n * size));
        }
        for (int64_t i = 0; i < value_groups; i++) {
            int64_t at = layout->value_scales + i * HEADWISE_KEY_BLOCK * 4;
            memcpy(dst + at, src + at, (size_t)(n_rows * 4));
        }
    }
    memcpy(cache->unclean + to * cache->n_kv_heads, cache->unclean + from * cache->n_kv_heads,
           (size_t)cache->n_kv_heads);
}

/* The block that the next row goes into, of which the sequence holds n_rows rows already. */
static void take_own(headwise_cache *cache, int64_t *entry, int64_t n_rows) {
    int64_t shared = *entry;
    if (cache->owners[shared] == 1)
        return;
    take(cache, entry);
    copy_block(cache, *entry, shared, n_rows);
}

void headwise_cache_open(headwise_cache *cache, int64_t sequence, int64_t n) {
    int64_t *table = cache->table + sequence * cache->n_slots;
    int64_t length = cache->lengths[sequence];
    int64_t held_from = headwise_cache_held_after(cache, sequence, n);
    int64_t n_rows = length % HEADWISE_KEY_BLOCK;
    int64_t end = headwise_ceil_div(length + n, HEADWISE_KEY_BLOCK);
    if (n == 0)
        return;
    for (int64_t block = length / HEADWISE_KEY_BLOCK; block < end; block++) {
        int64_t *entry = table + headwise_cache_slot(cache, block);
        if (n_rows > 0)
            take_own(cache, entry, n_rows);
        else
            take(cache, entry);
        n_rows = 0;
    }
    cache->held_from[sequence] = held_from;
}

/* Blocks that begin at or beyond length hold nothing any more. */
void headwise_cache_truncate_run(headwise_cache *cache, int64_t sequence, int64_t length) {
    int64_t *table = cache->table + sequence * cache->n_slots;
    int64_t first = headwise_ceil_div(length, HEADWISE_KEY_BLOCK);
    int64_t end = headwise_ceil_div(cache->lengths[sequence], HEADWISE_KEY_BLOCK);
    for (int64_t block = first; block < end && block < first + cache->n_slots; block++)
        let_go(cache, table + headwise_cache_slot(cache, block));
    cache->lengths[sequence] = length;
    if (length <= headwise_cache_pinned_keys(cache))
        cache->held_from[sequence] = headwise_cache_pinned_keys(cache);
}

void headwise_cache_load_begin(headwise_cache *cache, int64_t sequence, int64_t length,
                               int64_t from) {
    int64_t *table = cache->table + sequence * cache->n_slots;
    int64_t end = headwise_ceil_div(length, HEADWISE_KEY_BLOCK);
    headwise_cache_truncate_run(cache, sequence, 0);
    int64_t held_from = headwise_max(headwise_cache_held_after(cache, sequence, length), from);
    for (int64_t block = 0; block < headwise_min(end, cache->n_pinned); block++)
        take(cache, table + headwise_cache_slot(cache, block));
    for (int64_t block = held_from / HEADWISE_KEY_BLOCK; block < end; block++)
        take(cache, table + headwise_cache_slot(cache, block));
    cache->held_from[sequence] = held_from;
    cache->lengths[sequence] = length;
}

void headwise_cache_reorder_run(headwise_cache *cache, const int64_t *from) {
    size_t row_bytes = (size_t)cache->n_slots * sizeof(int64_t);
    int64_t *lengths = cache->new_lengths, *held_from = lengths + cache->n_sequences;
    for (int64_t s = 0; s < cache->n_sequences; s++) {
        memcpy(cache->new_table + s * cache->n_slots, cache->table + from[s] * cache->n_slots,
               row_bytes);
        lengths[s] = cache->lengths[from[s]];
        held_from[s] = cache->held_from[from[s]];
    }
    memcpy(cache->table, cache->new_table, row_bytes * (size_t)cache->n_sequences);
    memcpy(cache->lengths, lengths, (size_t)cache->n_sequences * sizeof(int64_t));
    memcpy(cache->held_from, held_from, (size_t)cache->n_sequences * sizeof(int64_t));
    memset(cache->owners, 0, (size_t)cache->n_blocks * sizeof(int64_t));
    for (int64_t i = 0; i < cache->n_blocks; i++) {
        if (cache->table[i] >= 0)
            cache->owners[cache->table[i]]++;
    }
}

void headwise_cache_copy_run(headwise_cache *cache, int64_t dst, int64_t src) {
    int64_t *to = cache->table + dst * cache->n_slots;
    const int64_t *from = cache->table + src * cache->n_slots;
    if (dst == src)
        return;
    for (int64_t i = 0; i < cache->n_slots; i++) {
        let_go(cache, to + i);
        to[i] = from[i];
        if (to[i] >= 0)
            cache->owners[to[i]]++;
    }
    cache->lengths[dst] = cache->lengths[src];
    cache->held_from[dst] = cache->held_from[src];
}
