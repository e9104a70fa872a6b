/* Writes a sequence of a cache as bytes, checks such bytes, and reads them back. */
#include "cache/save.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* The beginning of the buffer. */
struct header {
    char name[8];
    int64_t order, version, size_bytes, dtype, n_kv_heads, head_dim, value_dim;
    int64_t length, dropped_from, dropped_to, zeros[5];
};

static const char name[8] = "HWCACHE";
static const int64_t order = 0x0102030405060708, swapped_order = 0x0807060504030201;
enum { VERSION = 1 };

/* Where the parts begin, in bytes. */
struct parts {
    int64_t key_scales, value_scales, keys, values, end;
};

static int64_t count_rows(const struct headwise_saved_rows *rows) {
    return rows->length - (rows->dropped_to - rows->dropped_from);
}

/* p, or the first position after it that is there; length or more where there is none. */
static int64_t skip_dropped(const struct headwise_saved_rows *rows, int64_t p) {
    return p >= rows->dropped_from && p < rows->dropped_to ? rows->dropped_to : p;
}

static int64_t row_number(const struct headwise_saved_rows *rows, int64_t position) {
    return position < rows->dropped_from ? position
                                         : position - (rows->dropped_to - rows->dropped_from);
}

/* end is -1 where something overflows. */
static struct parts place_parts(const headwise_cache *cache,
                                const struct headwise_saved_rows *rows) {
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    const int64_t row_bytes[4] = {headwise_cache_groups(cache, cache->head_dim) * 4,
                                  headwise_cache_groups(cache, cache->value_dim) * 4,
                                  cache->head_dim * size, cache->value_dim * size};
    int64_t at[5] = {sizeof(struct header)}, n, bytes;
    bool fits = headwise_mul(&n, count_rows(rows), cache->n_kv_heads);
    for (int i = 0; i < 4; i++) {
        fits = fits && headwise_mul(&bytes, n, row_bytes[i]) && headwise_sum(&bytes, bytes, at[i]);
        at[i + 1] = fits ? bytes : -1;
    }
    return (struct parts){at[0], at[1], at[2], at[3], at[4]};
}

struct headwise_saved_rows headwise_saved_rows_of(const headwise_cache *cache, int64_t sequence) {
    struct headwise_saved_rows rows = {cache->lengths[sequence], 0, 0};
    int64_t pinned = headwise_cache_pinned_keys(cache);
    if (cache->held_from[sequence] > pinned) {
        rows.dropped_from = pinned;
        rows.dropped_to = cache->held_from[sequence];
    }
    return rows;
}

int64_t headwise_saved_size(const headwise_cache *cache, const struct headwise_saved_rows *rows) {
    return place_parts(cache, rows).end;
}

/* One row of one head in the buffer. */
struct saved_row {
    char *key, *value;
    float *key_scales, *value_scales;
};

static struct saved_row find_row(const headwise_cache *cache,
                                 const struct headwise_saved_rows *rows, const struct parts *parts,
                                 void *buffer, int64_t head, int64_t position) {
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t n = head * count_rows(rows) + row_number(rows, position);
    char *bytes = buffer;
    float *key_scales = (float *)(void *)(bytes + parts->key_scales);
    float *value_scales = (float *)(void *)(bytes + parts->value_scales);
    return (struct saved_row){
        bytes + parts->keys + n * cache->head_dim * size,
        bytes + parts->values + n * cache->value_dim * size,
        key_scales + n * headwise_cache_groups(cache, cache->head_dim),
        value_scales + n * headwise_cache_groups(cache, cache->value_dim),
    };
}

void headwise_saved_write(const headwise_cache *cache, int64_t sequence, void *buffer) {
    struct headwise_saved_rows rows = headwise_saved_rows_of(cache, sequence);
    struct parts parts = place_parts(cache, &rows);
    struct header header = {
        .order = order,
        .version = VERSION,
        .size_bytes = parts.end,
        .dtype = cache->dtype,
        .n_kv_heads = cache->n_kv_heads,
        .head_dim = cache->head_dim,
        .value_dim = cache->value_dim,
        .length = rows.length,
        .dropped_from = rows.dropped_from,
        .dropped_to = rows.dropped_to,
    };
    memcpy(header.name, name, sizeof name);
    memcpy(buffer, &header, sizeof header);
    for (int64_t g = 0; g < cache->n_kv_heads; g++) {
        for (int64_t p = skip_dropped(&rows, 0); p < rows.length; p = skip_dropped(&rows, p + 1)) {
            struct saved_row row = find_row(cache, &rows, &parts, buffer, g, p);
            headwise_cache_fetch_key(cache, sequence, g, p, row.key, row.key_scales);
            headwise_cache_fetch_value(cache, sequence, g, p, row.value, row.value_scales);
        }
    }
}

static enum headwise_status check_form(const char *where, const struct header *header,
                                       size_t size_bytes) {
    static const int64_t zeros[5];
    if (memcmp(header->name, name, sizeof name) != 0)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: this is no saved sequence of a cache",
                             where);
    if (header->order != order)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: %s", where,
                             header->order == swapped_order
                                 ? "saved by a machine of the other byte order"
                                 : "the byte order mark is damaged");
    if (header->version != VERSION)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: version %lld, expected %d", where,
                             (long long)header->version, VERSION);
    if (header->size_bytes < 0 || (uint64_t)header->size_bytes != size_bytes)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: %zu bytes, but %lld were saved", where,
                             size_bytes, (long long)header->size_bytes);
    if (memcmp(header->zeros, zeros, sizeof zeros) != 0)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: the end of the header is not 0", where);
    return HEADWISE_OK;
}

static enum headwise_status check_sizes(const char *where, const headwise_cache *cache,
                                        const struct header *header) {
    const struct {
        const char *name;
        int64_t saved, own;
    } sizes[] = {
        {"kv heads", header->n_kv_heads, cache->n_kv_heads},
        {"components of a key", header->head_dim, cache->head_dim},
        {"components of a value", header->value_dim, cache->value_dim},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].saved != sizes[i].own)
            return headwise_fail(HEADWISE_ERR_INVALID, "%s: saved with %lld %s, the cache has %lld",
                                 where, (long long)sizes[i].saved, sizes[i].name,
                                 (long long)sizes[i].own);
    }
    if (header->dtype != (int64_t)cache->dtype)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: saved as type %s, the cache has %s", where,
                             header->dtype >= 0 && header->dtype <= HEADWISE_I8
                                 ? headwise_dtype_name((enum headwise_dtype)header->dtype)
                                 : "?",
                             headwise_dtype_name(cache->dtype));
    return HEADWISE_OK;
}

static bool rows_are_sound(const struct headwise_saved_rows *rows) {
    bool none = rows->dropped_from == 0 && rows->dropped_to == 0;
    bool some = rows->dropped_from >= 0 && rows->dropped_from < rows->dropped_to &&
                rows->dropped_to <= rows->length && rows->dropped_from % HEADWISE_KEY_BLOCK == 0 &&
                rows->dropped_to % HEADWISE_KEY_BLOCK == 0;
    return rows->length >= 0 && rows->length <= HEADWISE_MOST_KEYS && (none || some);
}

/* What quantize_i8 writes: scales NaN or in their range, integers without -128. */
static bool i8_is_sound(const char *buffer, const struct parts *parts) {
    const float least = headwise_scale_i8(0), most = headwise_scale_i8(0x1.fffffep127f);
    const float *scales = (const float *)(const void *)(buffer + parts->key_scales);
    const int8_t *integers = (const int8_t *)(const void *)(buffer + parts->keys);
    bool sound = true;
    for (int64_t i = 0; i < (parts->keys - parts->key_scales) / 4; i++)
        sound &= !(scales[i] < least || scales[i] > most);
    for (int64_t i = 0; i < parts->end - parts->keys; i++)
        sound &= integers[i] != -128;
    return sound;
}

enum headwise_status headwise_saved_check(struct headwise_saved_rows *rows, const char *where,
                                          const headwise_cache *cache, const void *buffer,
                                          size_t size_bytes) {
    struct header header;
    if (size_bytes < sizeof header)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: %zu bytes, less than the header's %zu",
                             where, size_bytes, sizeof header);
    memcpy(&header, buffer, sizeof header);
    TRY(check_form(where, &header, size_bytes));
    TRY(check_sizes(where, cache, &header));
    *rows = (struct headwise_saved_rows){header.length, header.dropped_from, header.dropped_to};
    if (!rows_are_sound(rows))
        return headwise_fail(HEADWISE_ERR_FORMAT,
                             "%s: %lld keys of which those from %lld up to %lld were dropped "
                             "cannot be",
                             where, (long long)rows->length, (long long)rows->dropped_from,
                             (long long)rows->dropped_to);
    struct parts parts = place_parts(cache, rows);
    if (parts.end != header.size_bytes)
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: %lld bytes cannot be %lld rows", where,
                             (long long)header.size_bytes, (long long)count_rows(rows));
    if (cache->dtype == HEADWISE_I8 && !i8_is_sound(buffer, &parts))
        return headwise_fail(HEADWISE_ERR_FORMAT, "%s: damaged scales or integers", where);
    return HEADWISE_OK;
}

void headwise_saved_read(headwise_cache *cache, int64_t sequence,
                         const struct headwise_saved_rows *rows, const void *buffer) {
    struct parts parts = place_parts(cache, rows);
    headwise_cache_load_begin(cache, sequence, rows->length, rows->dropped_to);
    struct headwise_saved_rows held = headwise_saved_rows_of(cache, sequence);
    for (int64_t g = 0; g < cache->n_kv_heads; g++) {
        for (int64_t p = skip_dropped(&held, 0); p < rows->length; p = skip_dropped(&held, p + 1)) {
            struct saved_row row = find_row(cache, rows, &parts, (void *)(uintptr_t)buffer, g, p);
            headwise_cache_store_key(cache, sequence, g, p, row.key, row.key_scales);
            headwise_cache_store_value(cache, sequence, g, p, row.value, row.value_scales);
        }
    }
}
