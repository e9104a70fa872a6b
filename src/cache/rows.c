/* Rows of a cache, to and from the panels they are stored in. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cache/cache.h"
#include "kernels/panel.h"

static char *block_of(const headwise_cache *cache, int64_t sequence, int64_t head,
                      int64_t position) {
    int64_t found = headwise_cache_find(cache, sequence, position / HEADWISE_KEY_BLOCK);
    return headwise_cache_head(cache, found, head);
}

/* A key's elements are nr apart in its panel. */
struct key_place {
    int64_t first;  /* element of the panels */
    int64_t scale;  /* element of the scales */
    int64_t stride; /* of both */
};

static struct key_place place_key(const headwise_cache *cache, int64_t position) {
    int64_t nr = cache->kernels->nr;
    int64_t row = position % HEADWISE_KEY_BLOCK;
    int64_t panel = row / nr * nr, column = row % nr;
    int64_t groups = headwise_cache_groups(cache, cache->head_dim);
    return (struct key_place){panel * cache->head_dim + column, panel * groups + column, nr};
}

static void scatter(void *panels, struct key_place place, const void *row, int64_t n, size_t size) {
    int64_t step = place.stride;
    if (size == 4) {
        uint32_t *dst = (uint32_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            dst[t * step] = ((const uint32_t *)row)[t];
    } else if (size == 2) {
        uint16_t *dst = (uint16_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            dst[t * step] = ((const uint16_t *)row)[t];
    } else {
        uint8_t *dst = (uint8_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            dst[t * step] = ((const uint8_t *)row)[t];
    }
}

static void gather(void *row, const void *panels, struct key_place place, int64_t n, size_t size) {
    int64_t step = place.stride;
    if (size == 4) {
        const uint32_t *src = (const uint32_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            ((uint32_t *)row)[t] = src[t * step];
    } else if (size == 2) {
        const uint16_t *src = (const uint16_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            ((uint16_t *)row)[t] = src[t * step];
    } else {
        const uint8_t *src = (const uint8_t *)panels + place.first;
        for (int64_t t = 0; t < n; t++)
            ((uint8_t *)row)[t] = src[t * step];
    }
}

void headwise_cache_store_key(headwise_cache *cache, int64_t sequence, int64_t head,
                              int64_t position, const void *row, const float *scales) {
    char *block = block_of(cache, sequence, head, position);
    struct key_place place = place_key(cache, position);
    scatter(block, place, row, cache->head_dim, headwise_dtype_size(cache->dtype));
    place.first = place.scale;
    scatter(block + cache->layout.key_scales, place, scales,
            headwise_cache_groups(cache, cache->head_dim), sizeof(float));
}

void headwise_cache_fetch_key(const headwise_cache *cache, int64_t sequence, int64_t head,
                              int64_t position, void *row, float *scales) {
    const char *block = block_of(cache, sequence, head, position);
    struct key_place place = place_key(cache, position);
    gather(row, block, place, cache->head_dim, headwise_dtype_size(cache->dtype));
    place.first = place.scale;
    gather(scales, block + cache->layout.key_scales, place,
           headwise_cache_groups(cache, cache->head_dim), sizeof(float));
}

/* Whether what the row is read as is finite. Integers are at most 127 away from 0. */
static bool row_is_finite(enum headwise_dtype dtype, const void *row, int64_t n,
                          const float *scales, int64_t n_groups) {
    uint32_t above = 0; /* something is infinite or NaN */
    if (dtype == HEADWISE_F32) {
        for (int64_t t = 0; t < n; t++)
            above |= (((const uint32_t *)row)[t] & 0x7f800000u) == 0x7f800000u;
    } else if (dtype == HEADWISE_I8) {
        for (int64_t i = 0; i < n_groups; i++)
            above |= !isfinite(scales[i] * 128.0f);
    } else {
        uint16_t exponent = dtype == HEADWISE_F16 ? 0x7c00u : 0x7f80u;
        for (int64_t t = 0; t < n; t++)
            above |= (((const uint16_t *)row)[t] & exponent) == exponent;
    }
    return !above;
}

/* Columns beyond value_dim that fill up the last panel are never looked at. */
void headwise_cache_store_value(headwise_cache *cache, int64_t sequence, int64_t head,
                                int64_t position, const void *row, const float *scales) {
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t at = position % HEADWISE_KEY_BLOCK;
    int64_t n_groups = headwise_cache_groups(cache, cache->value_dim);
    int64_t found = headwise_cache_find(cache, sequence, position / HEADWISE_KEY_BLOCK);
    char *block = headwise_cache_head(cache, found, head);
    char *panels = block + cache->layout.values;
    float *block_scales = (float *)(void *)(block + cache->layout.value_scales);
    for (int64_t c = 0; c < cache->value_dim; c += cache->kernels->nr) {
        int64_t width = headwise_panel_width(cache->kernels, cache->value_dim, c);
        int64_t columns = headwise_min(width, cache->value_dim - c);
        char *dst = panels + (HEADWISE_KEY_BLOCK * c + at * width) * size;
        memcpy(dst, (const char *)row + c * size, (size_t)(columns * size));
        memset(dst + columns * size, 0, (size_t)((width - columns) * size));
    }
    for (int64_t i = 0; i < n_groups; i++)
        block_scales[i * HEADWISE_KEY_BLOCK + at] = scales[i];
    if (!row_is_finite(cache->dtype, row, cache->value_dim, scales, n_groups))
        cache->unclean[found * cache->n_kv_heads + head] = 1;
}

void headwise_cache_fetch_value(const headwise_cache *cache, int64_t sequence, int64_t head,
                                int64_t position, void *row, float *scales) {
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t at = position % HEADWISE_KEY_BLOCK;
    const char *block = block_of(cache, sequence, head, position);
    const char *panels = block + cache->layout.values;
    const float *block_scales = (const float *)(const void *)(block + cache->layout.value_scales);
    for (int64_t c = 0; c < cache->value_dim; c += cache->kernels->nr) {
        int64_t width = headwise_panel_width(cache->kernels, cache->value_dim, c);
        int64_t columns = headwise_min(width, cache->value_dim - c);
        memcpy((char *)row + c * size, panels + (HEADWISE_KEY_BLOCK * c + at * width) * size,
               (size_t)(columns * size));
    }
    for (int64_t i = 0; i < headwise_cache_groups(cache, cache->value_dim); i++)
        scales[i] = block_scales[i * HEADWISE_KEY_BLOCK + at];
}

/* What integers are read as. */
static void scale_group(float *row, const int8_t *src, int64_t step, float scale, int64_t n) {
    for (int64_t t = 0; t < n; t++)
        row[t] = (float)src[t * step] * scale;
}

void headwise_cache_read_key(const headwise_cache *cache, float *row, int64_t sequence,
                             int64_t head, int64_t position) {
    const char *block = block_of(cache, sequence, head, position);
    const float *scales = (const float *)(const void *)(block + cache->layout.key_scales);
    struct key_place place = place_key(cache, position);
    float chunk[HEADWISE_SCALE_GROUP];
    for (int64_t t = 0; t < cache->head_dim; t += HEADWISE_SCALE_GROUP) {
        int64_t n = headwise_min(HEADWISE_SCALE_GROUP, cache->head_dim - t);
        struct key_place part = {place.first + t * place.stride, 0, place.stride};
        if (cache->dtype == HEADWISE_I8) {
            float scale = scales[place.scale + t / HEADWISE_SCALE_GROUP * place.stride];
            scale_group(row + t, (const int8_t *)block + part.first, part.stride, scale, n);
        } else {
            gather(chunk, block, part, n, headwise_dtype_size(cache->dtype));
            cache->kernels->widen[cache->dtype](row + t, chunk, n);
        }
    }
}

void headwise_cache_read_value(const headwise_cache *cache, float *row, int64_t sequence,
                               int64_t head, int64_t position) {
    int64_t size = (int64_t)headwise_dtype_size(cache->dtype);
    int64_t at = position % HEADWISE_KEY_BLOCK;
    const char *block = block_of(cache, sequence, head, position);
    const float *scales = (const float *)(const void *)(block + cache->layout.value_scales);
    for (int64_t c = 0; c < cache->value_dim; c += cache->kernels->nr) {
        int64_t width = headwise_panel_width(cache->kernels, cache->value_dim, c);
        int64_t n = headwise_min(width, cache->value_dim - c);
        const char *src =
            block + cache->layout.values + (HEADWISE_KEY_BLOCK * c + at * width) * size;
        if (cache->dtype == HEADWISE_I8)
            scale_group(row + c, (const int8_t *)src, 1,
                        scales[c / HEADWISE_SCALE_GROUP * HEADWISE_KEY_BLOCK + at], n);
        else
            cache->kernels->widen[cache->dtype](row + c, src, n);
    }
}
