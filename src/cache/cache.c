/* Measures and creates caches. */
#include "cache/cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scratch.h"

static void measure_block(struct headwise_cache *cache) {
    struct headwise_cache_layout *layout = &cache->layout;
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t value_columns = headwise_round_up(cache->value_dim, cache->kernels->nr_min);
    int64_t total = 0;
    headwise_take_bytes(&total, HEADWISE_KEY_BLOCK, cache->head_dim, size);
    layout->key_scales = headwise_take_bytes(&total, HEADWISE_KEY_BLOCK,
                                             headwise_cache_groups(cache, cache->head_dim), 4);
    layout->values = headwise_take_bytes(&total, HEADWISE_KEY_BLOCK, value_columns, size);
    layout->value_scales = headwise_take_bytes(&total, HEADWISE_KEY_BLOCK,
                                               headwise_cache_groups(cache, cache->value_dim), 4);
    layout->head_bytes = total;
    if (total < 0 || !headwise_mul(&layout->block_bytes, total, cache->n_kv_heads))
        layout->block_bytes = -1;
}

/* Without a window every block stays. With one, those that hold the first keys stay, and beside
 * them the last capacity - first keys: so many keys in a row begin at most 255 positions into their
 * first block. */
static bool measure_slots(struct headwise_cache *cache) {
    int64_t keys;
    if (cache->window == 0) {
        cache->n_pinned = (cache->capacity - 1) / HEADWISE_KEY_BLOCK + 1;
        cache->n_slots = cache->n_pinned;
        return true;
    }
    cache->n_pinned = cache->first == 0 ? 0 : (cache->first - 1) / HEADWISE_KEY_BLOCK + 1;
    if (!headwise_sum(&keys, cache->capacity - cache->first, HEADWISE_KEY_BLOCK - 1))
        return false;
    cache->n_slots = cache->n_pinned + (keys - 1) / HEADWISE_KEY_BLOCK + 1;
    return true;
}

/* Where the arrays behind the struct begin, and total_bytes. */
struct places {
    int64_t lengths, held_from, table, new_table, new_lengths, owners, unclean, data;
};

static enum headwise_status measure(struct headwise_cache *cache, struct places *places) {
    int64_t total = 0;
    bool fits =
        measure_slots(cache) && headwise_mul(&cache->n_blocks, cache->n_sequences, cache->n_slots);
    measure_block(cache);
    if (!fits || cache->layout.block_bytes < 0)
        total = -1;
    headwise_take_bytes(&total, 1, sizeof *cache, 1);
    places->lengths = headwise_take_bytes(&total, cache->n_sequences, sizeof(int64_t), 1);
    places->held_from = headwise_take_bytes(&total, cache->n_sequences, sizeof(int64_t), 1);
    places->table = headwise_take_bytes(&total, cache->n_blocks, sizeof(int64_t), 1);
    places->new_table = headwise_take_bytes(&total, cache->n_blocks, sizeof(int64_t), 1);
    places->new_lengths = headwise_take_bytes(&total, cache->n_sequences, sizeof(int64_t), 2);
    places->owners = headwise_take_bytes(&total, cache->n_blocks, sizeof(int64_t), 1);
    places->unclean = headwise_take_bytes(&total, cache->n_blocks, cache->n_kv_heads, 1);
    places->data = headwise_take_bytes(&total, cache->n_blocks, cache->layout.block_bytes, 1);
    if (total < 0 || total > PTRDIFF_MAX)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "cache: its size overflows");
    cache->total_bytes = (size_t)total;
    return HEADWISE_OK;
}

static struct headwise_cache describe(const headwise_context *context,
                                      const struct headwise_cache_config *config) {
    return (struct headwise_cache){
        .kernels = context->kernels,
        .allocator = context->allocator,
        .n_sequences = config->n_sequences,
        .n_kv_heads = config->n_kv_heads,
        .head_dim = config->head_dim,
        .value_dim = config->value_dim,
        .capacity = config->capacity,
        .window = config->window,
        .first = config->window_first,
        .dtype = config->dtype,
        .config = *config,
    };
}

enum headwise_status headwise_cache_measure(size_t *bytes, const headwise_context *context,
                                            const struct headwise_cache_config *config) {
    struct headwise_cache cache = describe(context, config);
    struct places places;
    TRY(measure(&cache, &places));
    *bytes = cache.total_bytes;
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_build(headwise_cache **cache, const headwise_context *context,
                                          const struct headwise_cache_config *config) {
    struct headwise_cache described = describe(context, config);
    struct places places;
    TRY(measure(&described, &places));
    char *memory = headwise_alloc(&context->allocator, described.total_bytes);
    if (!memory)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "cache: no memory for %zu bytes",
                             described.total_bytes);
    described.lengths = (int64_t *)(void *)(memory + places.lengths);
    described.held_from = (int64_t *)(void *)(memory + places.held_from);
    described.table = (int64_t *)(void *)(memory + places.table);
    described.new_table = (int64_t *)(void *)(memory + places.new_table);
    described.new_lengths = (int64_t *)(void *)(memory + places.new_lengths);
    described.owners = (int64_t *)(void *)(memory + places.owners);
    described.unclean = (uint8_t *)memory + places.unclean;
    described.data = memory + places.data;
    for (int64_t s = 0; s < described.n_sequences; s++) {
        described.lengths[s] = 0;
        described.held_from[s] = headwise_cache_pinned_keys(&described);
    }
    for (int64_t i = 0; i < described.n_blocks; i++) {
        described.table[i] = -1;
        described.owners[i] = 0;
    }
    headwise_cache *created = (headwise_cache *)(void *)memory;
    *created = described;
    created->config.size = sizeof created->config;
    *cache = created;
    return HEADWISE_OK;
}

void headwise_cache_destroy(headwise_cache *cache) {
    if (!cache)
        return;
    struct headwise_allocator allocator = cache->allocator;
    headwise_release(&allocator, cache, cache->total_bytes);
}

const struct headwise_cache_config *headwise_cache_describe(const headwise_cache *cache) {
    return &cache->config;
}

static bool has_sequence(const headwise_cache *cache, int64_t sequence) {
    return cache && sequence >= 0 && sequence < cache->n_sequences;
}

int64_t headwise_cache_length(const headwise_cache *cache, int64_t sequence) {
    return has_sequence(cache, sequence) ? cache->lengths[sequence] : -1;
}

int64_t headwise_cache_held_from(const headwise_cache *cache, int64_t sequence) {
    if (!has_sequence(cache, sequence))
        return -1;
    int64_t held_from = cache->held_from[sequence];
    return held_from > headwise_cache_pinned_keys(cache) ? held_from : 0;
}

/* A ring may drop keys for what the first new row does not see: first + window - 1 stay. */
int64_t headwise_cache_room(const headwise_cache *cache, int64_t sequence) {
    if (!has_sequence(cache, sequence))
        return -1;
    int64_t length = cache->lengths[sequence], room = cache->capacity - length;
    if (cache->window > 0)
        room = headwise_max(room, cache->capacity - cache->first - cache->window + 1);
    return headwise_min(room, HEADWISE_MOST_KEYS - length);
}
