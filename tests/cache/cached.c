/* Makes caches in memory whose untouched bytes are a pattern, and fills them in chunks. */
#include "cached.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_headers.h"
#include "compare.h"
#include "guard.h"
#include "half.h"

static void *fill_alloc(void *user, size_t size_bytes, size_t alignment) {
    size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded);
    if (memory != NULL)
        memset(memory, *(const unsigned char *)user, size_bytes);
    return memory;
}

static void fill_release(void *user, void *memory, size_t size_bytes) {
    (void)user;
    (void)size_bytes;
    free(memory);
}

headwise_context *cached_context(enum headwise_isa isa, int n_threads, unsigned char garbage) {
    static unsigned char bytes[256];
    headwise_context *context = NULL;
    bytes[garbage] = garbage;
    struct headwise_context_options options = {
        .size = sizeof(options),
        .isa = isa,
        .n_threads = n_threads,
        .allocator = {fill_alloc, fill_release, &bytes[garbage]},
    };
    cached_expect_ok(headwise_context_create(&context, &options), "context");
    return context;
}

static void *note_alloc(void *user, size_t size_bytes, size_t alignment) {
    struct cached_memory *last = user;
    unsigned char garbage = 0xff;
    last->memory = fill_alloc(&garbage, size_bytes, alignment);
    last->size_bytes = size_bytes;
    last->n_calls++;
    return last->memory;
}

headwise_context *cached_context_noting(enum headwise_isa isa, int n_threads,
                                        struct cached_memory *last) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {
        .size = sizeof(options),
        .isa = isa,
        .n_threads = n_threads,
        .allocator = {note_alloc, fill_release, last},
    };
    cached_expect_ok(headwise_context_create(&context, &options), "context");
    return context;
}

struct cached_memory cached_memory_of(headwise_context *context, const headwise_cache *cache) {
    struct cached_memory memory = {(void *)(uintptr_t)cache, 0, 0};
    struct headwise_cache_config config = {
        .size = sizeof(config),
        .n_sequences = headwise_cache_describe(cache)->n_sequences,
        .n_kv_heads = headwise_cache_describe(cache)->n_kv_heads,
        .head_dim = headwise_cache_describe(cache)->head_dim,
        .value_dim = headwise_cache_describe(cache)->value_dim,
        .capacity = headwise_cache_describe(cache)->capacity,
        .dtype = headwise_cache_describe(cache)->dtype,
        .window = headwise_cache_describe(cache)->window,
        .window_first = headwise_cache_describe(cache)->window_first,
    };
    cached_expect_ok(headwise_cache_bytes(context, &config, &memory.size_bytes), "bytes");
    return memory;
}

void *cached_snapshot(const struct cached_memory *memory) {
    void *copy = guard_plain(memory->size_bytes, 1);
    memcpy(copy, memory->memory, memory->size_bytes);
    return copy;
}

void cached_expect_unchanged(const struct cached_memory *memory, const void *snapshot,
                             const char *what) {
    if (memcmp(memory->memory, snapshot, memory->size_bytes) != 0)
        fail_msg("%s: the cache has changed", what);
}

int cached_threads(int64_t chunk, int turn) {
    return chunk < 64 ? 1 : 1 + turn % 3;
}

void cached_expect_ok(enum headwise_status status, const char *what) {
    if (status != HEADWISE_OK)
        fail_msg("%s: %s: %s", what, headwise_status_name(status), headwise_last_error());
}

headwise_cache *cached_create(headwise_context *context, struct headwise_cache_config config) {
    headwise_cache *cache = NULL;
    config.size = sizeof(config);
    cached_expect_ok(headwise_cache_create(&cache, context, &config), "cache");
    return cache;
}

struct headwise_cache_config cached_config(const struct headwise_tensor *k,
                                           const struct headwise_tensor *v, int64_t capacity,
                                           enum headwise_dtype dtype) {
    return (struct headwise_cache_config){
        .n_sequences = k->size[0],
        .n_kv_heads = k->size[1],
        .head_dim = k->size[3],
        .value_dim = v->size[3],
        .capacity = capacity,
        .dtype = dtype,
    };
}

struct headwise_tensor cached_view(const struct headwise_tensor *t, int64_t b, int64_t n_batch,
                                   int64_t r, int64_t n_rows) {
    struct headwise_tensor view = *t;
    int64_t offset = b * t->stride[0] + r * t->stride[2];
    view.data = (char *)t->data + offset * (int64_t)headwise_dtype_size(t->dtype);
    view.size[0] = n_batch;
    view.size[2] = n_rows;
    return view;
}

struct headwise_attention_call cached_given(const struct headwise_attention_options *options) {
    return (struct headwise_attention_call){.size = sizeof(struct headwise_attention_call),
                                            .options = options};
}

static struct headwise_attention_call over(headwise_cache *cache, int64_t first,
                                           const struct headwise_attention_call *given) {
    struct headwise_attention_call call = given != NULL ? *given : cached_given(NULL);
    call.cache = cache;
    call.first_sequence = first;
    return call;
}

enum headwise_status cached_try_append(headwise_context *context, headwise_cache *cache,
                                       int64_t first, const struct headwise_tensor *k,
                                       const struct headwise_tensor *v) {
    struct headwise_attention_call call = over(cache, first, NULL);
    call.k = k;
    call.v = v;
    return headwise_cache_append(context, &call);
}

enum headwise_status cached_try_attention(headwise_context *context,
                                          const struct headwise_tensor *y,
                                          const struct headwise_tensor *q, headwise_cache *cache,
                                          int64_t first,
                                          const struct headwise_attention_call *given) {
    struct headwise_attention_call call = over(cache, first, given);
    call.y = y;
    call.q = q;
    return headwise_attention(context, &call);
}

enum headwise_status cached_try_forward(headwise_context *context, const headwise_mha *mha,
                                        const struct headwise_tensor *y,
                                        const struct headwise_tensor *x, headwise_cache *cache,
                                        int64_t first,
                                        const struct headwise_attention_call *given) {
    struct headwise_attention_call call = over(cache, first, given);
    call.y = y;
    call.x = x;
    return headwise_mha_forward(context, mha, &call);
}

enum headwise_status cached_try_mha_append(headwise_context *context, const headwise_mha *mha,
                                           headwise_cache *cache, int64_t first,
                                           const struct headwise_tensor *memory,
                                           const struct headwise_attention_call *given) {
    struct headwise_attention_call call = over(cache, first, given);
    call.memory = memory;
    return headwise_mha_append(context, mha, &call);
}

void cached_append(headwise_context *context, headwise_cache *cache, int64_t sequence,
                   const struct headwise_tensor *k, const struct headwise_tensor *v,
                   int64_t chunk) {
    for (int64_t r = 0; r < k->size[2]; r += chunk) {
        int64_t n = k->size[2] - r < chunk ? k->size[2] - r : chunk;
        struct headwise_tensor k_rows = cached_view(k, 0, k->size[0], r, n);
        struct headwise_tensor v_rows = cached_view(v, 0, v->size[0], r, n);
        cached_expect_ok(cached_try_append(context, cache, sequence, &k_rows, &v_rows), "append");
    }
}

void cached_read(const headwise_cache *cache, int64_t sequence, int64_t from,
                 struct headwise_tensor *k, struct headwise_tensor *v) {
    int64_t n = headwise_cache_length(cache, sequence) - from;
    int64_t heads = headwise_cache_describe(cache)->n_kv_heads;
    *k = call_tensor(HEADWISE_F32, 1, heads, n, headwise_cache_describe(cache)->head_dim, NULL);
    *v = call_tensor(HEADWISE_F32, 1, heads, n, headwise_cache_describe(cache)->value_dim, NULL);
    cached_expect_ok(headwise_cache_read(cache, sequence, from, k, v), "read");
    guard_check();
}

/* One group of components with one scale. */
static void round_i8(float *out, const float *row, int64_t n) {
    float largest = 0;
    bool finite = true;
    for (int64_t t = 0; t < n; t++) {
        finite &= isfinite(row[t]) != 0;
        largest = fabsf(row[t]) > largest ? fabsf(row[t]) : largest;
    }
    float scale = largest / 127;
    scale = scale < 0x1p-126f ? 0x1p-126f : scale;
    scale = scale > 0x1.020406p121f ? 0x1.020406p121f : scale; /* 2^128 / 127, rounded down */
    for (int64_t t = 0; t < n; t++)
        out[t] = finite ? (float)lrintf(row[t] / scale) * scale : NAN;
}

void cached_round(enum headwise_dtype dtype, float *out, const float *row, int64_t n) {
    enum { GROUP = 32 };
    if (dtype == HEADWISE_I8) {
        for (int64_t t = 0; t < n; t += GROUP)
            round_i8(out + t, row + t, n - t < GROUP ? n - t : GROUP);
        return;
    }
    for (int64_t t = 0; t < n; t++)
        out[t] = dtype == HEADWISE_F32
                     ? row[t]
                     : (float)half_to_double(dtype, half_from_double(dtype, (double)row[t]));
}

void cached_expect_same(const struct headwise_tensor *got, const struct headwise_tensor *want,
                        const char *what) {
    for (int axis = 0; axis < 4; axis++)
        assert_int_equal(got->size[axis], want->size[axis]);
    for (int64_t b = 0; b < got->size[0]; b++)
        for (int64_t h = 0; h < got->size[1]; h++)
            for (int64_t r = 0; r < got->size[2]; r++) {
                const float *a = (const float *)got->data + b * got->stride[0] +
                                 h * got->stride[1] + r * got->stride[2];
                const float *w = (const float *)want->data + b * want->stride[0] +
                                 h * want->stride[1] + r * want->stride[2];
                compare_same_bits(a, w, (size_t)got->size[3], "%s: [%lld][%lld][%lld]", what,
                                  (long long)b, (long long)h, (long long)r);
            }
}
