/* New rows on their way into the panels of a cache. */
#include "alloc.h"
#include "cache.h"
#include "plan.h"
#include "rows.h"
#include "tensor.h"

/* Where a worker's scratch lies, in floats. */
struct scratch_map {
    int64_t rows;   /* nr rows as f32 */
    int64_t panel;  /* a key panel as f32 */
    int64_t narrow; /* a row in the cache's type */
    int64_t scales; /* of that row */
    int64_t total;
};

static struct scratch_map map_scratch(const headwise_cache *cache) {
    struct scratch_map map = {0};
    int64_t widest = headwise_max(cache->head_dim, cache->value_dim);
    map.rows = headwise_take(&map.total, cache->kernels->nr, widest);
    map.panel = headwise_take(&map.total, cache->kernels->nr, cache->head_dim);
    map.narrow = headwise_take(&map.total, 1, widest);
    map.scales = headwise_take(&map.total, 1, headwise_cache_groups(cache, widest));
    return map;
}

int64_t headwise_cache_append_floats(const headwise_cache *cache) {
    return map_scratch(cache).total;
}

/* One task: the rows of one block of one sequence and kv head. */
struct piece {
    headwise_cache *cache;
    int64_t sequence, head;
    int64_t batch;         /* the sequence's place in k and v */
    int64_t length;        /* position of row 0 of k and v */
    int64_t position, end; /* positions of this block's new rows */
    struct scratch_map map;
    float *scratch;
};

/* n rows of k or v from a position on: the caller's own memory where it is f32. */
static struct headwise_rows rows_f32(const struct piece *piece, const struct headwise_tensor *src,
                                     int64_t position, int64_t n) {
    int64_t row = position - piece->length;
    if (src->dtype == HEADWISE_F32)
        return (struct headwise_rows){headwise_tensor_row(src, piece->batch, piece->head, row),
                                      src->stride[2], n};
    float *rows = piece->scratch + piece->map.rows;
    for (int64_t i = 0; i < n; i++)
        headwise_row_to_f32(piece->cache->kernels, rows + i * src->size[3], src, piece->batch,
                            piece->head, row + i);
    return (struct headwise_rows){rows, src->size[3], n};
}

/* The row in the cache's type, its scales beside it. */
static const void *narrow_row(const struct piece *piece, const float *row, int64_t n) {
    const headwise_cache *cache = piece->cache;
    void *narrow = piece->scratch + piece->map.narrow;
    if (cache->dtype == HEADWISE_F32)
        return row;
    if (cache->dtype == HEADWISE_I8)
        cache->kernels->quantize_i8(narrow, piece->scratch + piece->map.scales, row, n);
    else
        headwise_row_from_f32(cache->kernels, narrow, cache->dtype, row, n);
    return narrow;
}

/* A whole panel of nr keys. */
static void append_key_panel(const struct piece *piece, const struct headwise_tensor *k,
                             int64_t position) {
    const headwise_cache *cache = piece->cache;
    const struct headwise_kernels *kernels = cache->kernels;
    int64_t found = headwise_cache_find(cache, piece->sequence, position / HEADWISE_KEY_BLOCK);
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    char *panel = headwise_cache_head(cache, found, piece->head) +
                  position % HEADWISE_KEY_BLOCK * cache->head_dim * size;
    bool direct = cache->dtype == HEADWISE_F32;
    float *packed = direct ? (float *)(void *)panel : piece->scratch + piece->map.panel;
    struct headwise_rows rows = rows_f32(piece, k, position, kernels->nr);
    kernels->pack_transposed(packed, kernels->nr, rows.data, rows.stride, kernels->nr,
                             cache->head_dim);
    if (!direct)
        headwise_row_from_f32(kernels, panel, cache->dtype, packed, kernels->nr * cache->head_dim);
}

static void append_keys(const struct piece *piece, const struct headwise_tensor *k) {
    headwise_cache *cache = piece->cache;
    int64_t nr = cache->kernels->nr;
    const float *scales = piece->scratch + piece->map.scales;
    for (int64_t p = piece->position; p < piece->end;) {
        if (p % nr == 0 && piece->end - p >= nr && cache->dtype != HEADWISE_I8) {
            append_key_panel(piece, k, p);
            p += nr;
            continue;
        }
        struct headwise_rows row = rows_f32(piece, k, p, 1);
        headwise_cache_store_key(cache, piece->sequence, piece->head, p,
                                 narrow_row(piece, row.data, cache->head_dim), scales);
        p++;
    }
}

static void append_values(const struct piece *piece, const struct headwise_tensor *v) {
    headwise_cache *cache = piece->cache;
    const float *scales = piece->scratch + piece->map.scales;
    for (int64_t p = piece->position; p < piece->end; p++) {
        struct headwise_rows row = rows_f32(piece, v, p, 1);
        headwise_cache_store_value(cache, piece->sequence, piece->head, p,
                                   narrow_row(piece, row.data, cache->value_dim), scales);
    }
}

/* Blocks that so many rows reach into at most. */
static int64_t most_blocks(int64_t n_rows) {
    return n_rows == 0 ? 0 : (n_rows - 1) / HEADWISE_KEY_BLOCK + 2;
}

static void append_task(void *arg, int64_t index, int worker) {
    const struct headwise_cache_append *append = arg;
    headwise_cache *cache = append->cache;
    int64_t n_blocks = most_blocks(append->k.size[2]);
    int64_t b = index / n_blocks / cache->n_kv_heads;
    struct piece piece = {
        .cache = cache,
        .sequence = append->first_sequence + b,
        .head = index / n_blocks % cache->n_kv_heads,
        .batch = b,
        .length = cache->lengths[append->first_sequence + b],
        .map = map_scratch(cache),
        .scratch = append->scratch + worker * append->worker_floats,
    };
    int64_t first = (piece.length / HEADWISE_KEY_BLOCK + index % n_blocks) * HEADWISE_KEY_BLOCK;
    piece.position = headwise_max(first, piece.length);
    piece.end = headwise_min(first + HEADWISE_KEY_BLOCK, piece.length + append->k.size[2]);
    append_keys(&piece, &append->k);
    append_values(&piece, &append->v);
}

struct headwise_phase headwise_cache_append_phase(const struct headwise_cache_append *append) {
    int64_t tasks = append->k.size[0] * append->cache->n_kv_heads * most_blocks(append->k.size[2]);
    return (struct headwise_phase){tasks, append_task, (void *)(uintptr_t)append};
}

/* Elements below which waking threads (about 5 us) costs more than it gives. */
enum { TINY_ELEMENTS = 32 * 1024 };

bool headwise_cache_append_is_tiny(const struct headwise_cache_append *append) {
    const headwise_cache *cache = append->cache;
    double rows = (double)append->k.size[0] * (double)append->k.size[2];
    return rows * (double)cache->n_kv_heads * (double)(cache->head_dim + cache->value_dim) <
           TINY_ELEMENTS;
}

void headwise_cache_commit(const struct headwise_cache_append *append) {
    for (int64_t b = 0; b < append->k.size[0]; b++)
        append->cache->lengths[append->first_sequence + b] += append->k.size[2];
}
