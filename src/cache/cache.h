/* The cache's inside: blocks of keys and values as panels, and which sequence owns which. */
#ifndef HEADWISE_SRC_CACHE_H
#define HEADWISE_SRC_CACHE_H

#include "base/sequences.h"
#include "context/context.h"
#include "context/work.h"
#include "headwise/cache.h"

/* Where the parts of one block of one kv head lie, in bytes from its beginning. Each part is a
 * multiple of HEADWISE_ALIGNMENT long.
 *   keys          key panels of nr keys: [panel][dim][nr]
 *   key scales    I8 only: [panel][group of dims][nr] f32
 *   values        panels of up to nr columns: [panel][256][columns], as kernels.h has them
 *   value scales  I8 only: [group of columns][256] f32 */
struct headwise_cache_layout {
    int64_t key_scales, values, value_scales;
    int64_t head_bytes;  /* of one kv head's block */
    int64_t block_bytes; /* of all kv heads together */
};

/* Positions are below this: far beyond any memory, so that sums of them cannot overflow. */
#define HEADWISE_MOST_KEYS ((int64_t)1 << 48)

struct headwise_cache {
    const struct headwise_kernels *kernels;
    struct headwise_allocator allocator;
    size_t total_bytes; /* of the one piece of memory that this struct begins */
    int64_t n_sequences, n_kv_heads, head_dim, value_dim, capacity, window, first;
    enum headwise_dtype dtype;
    struct headwise_cache_config config; /* what a caller sees of it, defaults filled in */
    struct headwise_cache_layout layout;

    /* Each sequence has n_slots places for blocks. Block number b of the sequence (positions 256*b
     * and up) is in slot b for b < n_pinned, which is all of them without a window; the blocks
     * after them take turns in the other slots. */
    int64_t n_slots, n_pinned;
    int64_t n_blocks; /* n_sequences * n_slots: enough for every sequence to own all of its own */

    int64_t *lengths;   /* [n_sequences] */
    int64_t *held_from; /* [n_sequences]: positions from the end of the pinned blocks up to here
                         * were dropped; a multiple of HEADWISE_KEY_BLOCK */
    int64_t *table;     /* [n_sequences][n_slots]: a block, or -1 */
    int64_t *new_table; /* room for reorder: as table, and as lengths and held_from */
    int64_t *new_lengths;
    int64_t *owners;  /* [n_blocks]: entries of the table that name the block */
    uint8_t *unclean; /* [n_blocks][n_kv_heads]: a value that is not finite was written */
    char *data;       /* [n_blocks][n_kv_heads][head_bytes] */
};

/* total_bytes of a checked config. HEADWISE_ERR_NO_MEMORY: the size overflows. */
enum headwise_status headwise_cache_measure(size_t *bytes, const headwise_context *context,
                                            const struct headwise_cache_config *config);

/* Creates a cache from a checked config whose defaults are filled in. */
enum headwise_status headwise_cache_build(headwise_cache **cache, const headwise_context *context,
                                          const struct headwise_cache_config *config);

/* Elements of a row of keys or values, and f32 scales beside them (0 unless I8). */
static inline int64_t headwise_cache_groups(const headwise_cache *cache, int64_t columns) {
    return cache->dtype == HEADWISE_I8 ? (columns + HEADWISE_SCALE_GROUP - 1) / HEADWISE_SCALE_GROUP
                                       : 0;
}

static inline int64_t headwise_cache_slot(const headwise_cache *cache, int64_t block) {
    if (block < cache->n_pinned)
        return block;
    return cache->n_pinned + (block - cache->n_pinned) % (cache->n_slots - cache->n_pinned);
}

/* The memory of block number block of a sequence, which must hold it. */
static inline int64_t headwise_cache_find(const headwise_cache *cache, int64_t sequence,
                                          int64_t block) {
    return cache->table[sequence * cache->n_slots + headwise_cache_slot(cache, block)];
}

static inline char *headwise_cache_head(const headwise_cache *cache, int64_t found, int64_t head) {
    return cache->data + found * cache->layout.block_bytes + head * cache->layout.head_bytes;
}

static inline int64_t headwise_cache_pinned_keys(const headwise_cache *cache) {
    return cache->n_pinned * HEADWISE_KEY_BLOCK;
}

/* held_from of a sequence after n rows more. */
int64_t headwise_cache_held_after(const headwise_cache *cache, int64_t sequence, int64_t n);

/* The first position behind the pinned blocks that a ring's sequence of this length must hold: the
 * first key that the next query sees. As held_from begins a block, one that goes on is held too. */
int64_t headwise_cache_needed_from(const headwise_cache *cache, int64_t length);

/* Gives a sequence blocks of its own for n rows more, for which there is room; its length stays.
 * Rows it shares a block with are copied. Cannot fail. */
void headwise_cache_open(headwise_cache *cache, int64_t sequence, int64_t n);

/* Makes a sequence one of this length with blocks of its own for all it can hold of the pinned
 * positions and those from `from` on, which is a multiple of HEADWISE_KEY_BLOCK. Rows are still to
 * be stored. Cannot fail. */
void headwise_cache_load_begin(headwise_cache *cache, int64_t sequence, int64_t length,
                               int64_t from);

/* Checked truncate, copy and reorder. */
void headwise_cache_truncate_run(headwise_cache *cache, int64_t sequence, int64_t length);
void headwise_cache_copy_run(headwise_cache *cache, int64_t dst, int64_t src);
void headwise_cache_reorder_run(headwise_cache *cache, const int64_t *from);

/* Rows to be stored, at the sequences' lengths: entry b of k's batch goes to sequence
 * first_sequence
 * + b; or, of one batch entry, the rows that ragged names, which is checked, to its sequences. */
struct headwise_cache_append {
    headwise_cache *cache;
    int64_t first_sequence;
    const struct headwise_ragged *ragged; /* or NULL */
    struct headwise_tensor k, v;
    float *scratch; /* headwise_cache_append_floats() for each worker */
    int64_t worker_floats;
};

/* Scratch of one worker, in floats; -1 where it overflows. */
int64_t headwise_cache_append_floats(const headwise_cache *cache);

/* The phase that stores the rows. append lives until it has run. */
struct headwise_phase headwise_cache_append_phase(const struct headwise_cache_append *append);

/* Runs phases, that one among them, as headwise_parallel_run does: opens the sequences before and
 * advances their lengths afterwards. HEADWISE_ERR_CANCELLED: they have the length they had. */
enum headwise_status headwise_cache_append_phases(headwise_context *context,
                                                  const struct headwise_cache_append *append,
                                                  const struct headwise_phase *phases, int n_phases,
                                                  bool serial);

/* All of it, with scratch of the context. HEADWISE_ERR_NO_MEMORY: nothing has changed. */
enum headwise_status headwise_cache_append_run(headwise_context *context,
                                               struct headwise_cache_append *append);

/* Whether the rows are too few to wake other threads for. */
bool headwise_cache_append_is_tiny(const struct headwise_cache_append *append);

/* Row `position` of one head, in the cache's type, to contiguous memory, and back; scales: one per
 * group, I8 only. store keeps `unclean` up to date. */
void headwise_cache_fetch_key(const headwise_cache *cache, int64_t sequence, int64_t head,
                              int64_t position, void *row, float *scales);
void headwise_cache_fetch_value(const headwise_cache *cache, int64_t sequence, int64_t head,
                                int64_t position, void *row, float *scales);
void headwise_cache_store_key(headwise_cache *cache, int64_t sequence, int64_t head,
                              int64_t position, const void *row, const float *scales);
void headwise_cache_store_value(headwise_cache *cache, int64_t sequence, int64_t head,
                                int64_t position, const void *row, const float *scales);

/* One such row as f32. */
void headwise_cache_read_key(const headwise_cache *cache, float *row, int64_t sequence,
                             int64_t head, int64_t position);
void headwise_cache_read_value(const headwise_cache *cache, float *row, int64_t sequence,
                               int64_t head, int64_t position);

#endif
