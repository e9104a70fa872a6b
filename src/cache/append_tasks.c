/* The tasks that put new rows into the panels of a cache. */
#include "base/scratch.h"
#include "base/search.h"
#include "cache/entries.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

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
    int64_t head;
    struct headwise_append_entry entry;
    int64_t length;        /* of the sequence: the position of its first new row */
    int64_t position, end; /* positions of this block's new rows */
    struct scratch_map map;
    float *scratch;
};

/* n rows of k or v from a position on: the caller's own memory where it is f32. */
static struct headwise_f32_rows rows_f32(const struct piece *piece,
                                         const struct headwise_tensor *src, int64_t position,
                                         int64_t n) {
    int64_t row = piece->entry.first + position - piece->length;
    if (src->dtype == HEADWISE_F32)
        return (struct headwise_f32_rows){
            headwise_tensor_row(src, piece->entry.batch, piece->head, row), src->stride[2], n};
    float *rows = piece->scratch + piece->map.rows;
    for (int64_t i = 0; i < n; i++)
        headwise_row_to_f32(piece->cache->kernels, rows + i * src->size[3], src, piece->entry.batch,
                            piece->head, row + i);
    return (struct headwise_f32_rows){rows, src->size[3], n};
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
    int64_t found =
        headwise_cache_find(cache, piece->entry.sequence, position / HEADWISE_KEY_BLOCK);
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    char *panel = headwise_cache_head(cache, found, piece->head) +
                  position % HEADWISE_KEY_BLOCK * cache->head_dim * size;
    bool direct = cache->dtype == HEADWISE_F32;
    float *packed = direct ? (float *)(void *)panel : piece->scratch + piece->map.panel;
    struct headwise_f32_rows rows = rows_f32(piece, k, position, kernels->nr);
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
        struct headwise_f32_rows row = rows_f32(piece, k, p, 1);
        headwise_cache_store_key(cache, piece->entry.sequence, piece->head, p,
                                 narrow_row(piece, row.data, cache->head_dim), scales);
        p++;
    }
}

static void append_values(const struct piece *piece, const struct headwise_tensor *v) {
    headwise_cache *cache = piece->cache;
    const float *scales = piece->scratch + piece->map.scales;
    for (int64_t p = piece->position; p < piece->end; p++) {
        struct headwise_f32_rows row = rows_f32(piece, v, p, 1);
        headwise_cache_store_value(cache, piece->entry.sequence, piece->head, p,
                                   narrow_row(piece, row.data, cache->value_dim), scales);
    }
}

/* Number of the first task of entry b, of one head. n rows reach into (n - 1) / 256 + 2 blocks at
 * most, so what lies between two of these is enough for all blocks of an entry. */
static int64_t first_piece(const struct headwise_cache_append *append, int64_t b) {
    return headwise_rows_before(append, b) / HEADWISE_KEY_BLOCK + 2 * b;
}

static int64_t count_pieces(const struct headwise_cache_append *append) {
    return first_piece(append, headwise_count_appends(append)) - first_piece(append, 0);
}

static int64_t start_of_pieces(const void *append, int64_t b) {
    return first_piece(append, b);
}

/* The entry that piece number index belongs to; index becomes its number in the entry. */
static int64_t locate_piece(const struct headwise_cache_append *append, int64_t *index) {
    *index += first_piece(append, 0);
    int64_t b = headwise_find_last(append, headwise_count_appends(append), start_of_pieces, *index);
    *index -= first_piece(append, b);
    return b;
}

static void append_task(void *arg, int64_t index, int worker) {
    const struct headwise_cache_append *append = arg;
    headwise_cache *cache = append->cache;
    int64_t block = index / cache->n_kv_heads;
    struct piece piece = {
        .cache = cache,
        .head = index % cache->n_kv_heads,
        .entry = headwise_find_append(append, locate_piece(append, &block)),
        .map = map_scratch(cache),
        .scratch = append->scratch + worker * append->worker_floats,
    };
    piece.length = cache->lengths[piece.entry.sequence];
    int64_t first = (piece.length / HEADWISE_KEY_BLOCK + block) * HEADWISE_KEY_BLOCK;
    piece.position = headwise_max(first, piece.length);
    piece.end = headwise_min(first + HEADWISE_KEY_BLOCK, piece.length + piece.entry.n);
    append_keys(&piece, &append->k);
    append_values(&piece, &append->v);
}

struct headwise_phase headwise_cache_append_phase(const struct headwise_cache_append *append) {
    int64_t tasks = count_pieces(append) * append->cache->n_kv_heads;
    return (struct headwise_phase){tasks, append_task, (void *)(uintptr_t)append};
}
