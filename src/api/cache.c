/* Caches: their config, appending, truncating, sharing and reading back. */
#include <string.h>

#include "api/check.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/options.h"
#include "cache/cache.h"
#include "headwise/headwise.h"
#include "tensors/tensor.h"

static enum headwise_status check_range(const char *name, int64_t size, int64_t least) {
    if (size < least || size > (int64_t)1 << 40)
        return headwise_fail(HEADWISE_ERR_INVALID, "cache: %s is %lld, expected %lld to 2^40", name,
                             (long long)size, (long long)least);
    return HEADWISE_OK;
}

static enum headwise_status check_window(const struct headwise_cache_config *config) {
    enum headwise_status status = check_range("window", config->window, 0);
    if (status == HEADWISE_OK)
        status = check_range("window_first", config->window_first, 0);
    if (status != HEADWISE_OK)
        return status;
    if (config->window == 0 && config->window_first > 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "cache: window_first is %lld without a window",
                             (long long)config->window_first);
    if (config->window > 0 && config->capacity < config->window_first + config->window)
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "cache: capacity is %lld, expected window_first + window = %lld or more",
            (long long)config->capacity, (long long)(config->window_first + config->window));
    return HEADWISE_OK;
}

static enum headwise_status check_config(struct headwise_cache_config *resolved,
                                         const headwise_context *context,
                                         const struct headwise_cache_config *config) {
    if (!context || !config)
        return headwise_fail(HEADWISE_ERR_INVALID, "cache: %s is NULL",
                             context ? "config" : "context");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(resolved, config, "cache: config");
    if (status != HEADWISE_OK)
        return status;
    if (resolved->value_dim == 0)
        resolved->value_dim = resolved->head_dim;
    const struct {
        const char *name;
        int64_t size, least;
    } sizes[] = {
        {"n_sequences", resolved->n_sequences, 1}, {"n_kv_heads", resolved->n_kv_heads, 1},
        {"head_dim", resolved->head_dim, 1},       {"value_dim", resolved->value_dim, 1},
        {"capacity", resolved->capacity, 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        status = check_range(sizes[i].name, sizes[i].size, sizes[i].least);
        if (status != HEADWISE_OK)
            return status;
    }
    status = check_window(resolved);
    if (status != HEADWISE_OK)
        return status;
    if (resolved->dtype != HEADWISE_F32 && resolved->dtype != HEADWISE_F16 &&
        resolved->dtype != HEADWISE_BF16 && resolved->dtype != HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "cache: its type is %s, expected f32, f16, bf16 or i8",
                             headwise_dtype_name(resolved->dtype));
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_bytes(headwise_context *context,
                                          const struct headwise_cache_config *config,
                                          size_t *bytes) {
    struct headwise_cache_config resolved;
    if (!bytes)
        return headwise_fail(HEADWISE_ERR_INVALID, "cache: bytes is NULL");
    enum headwise_status status = check_config(&resolved, context, config);
    if (status != HEADWISE_OK)
        return status;
    return headwise_cache_measure(bytes, context, &resolved);
}

enum headwise_status headwise_cache_create(headwise_cache **cache, headwise_context *context,
                                           const struct headwise_cache_config *config) {
    struct headwise_cache_config resolved;
    if (!cache)
        return headwise_fail(HEADWISE_ERR_INVALID, "cache: the place for it is NULL");
    enum headwise_status status = check_config(&resolved, context, config);
    if (status != HEADWISE_OK)
        return status;
    return headwise_cache_build(cache, context, &resolved);
}

enum headwise_status headwise_cache_append(headwise_context *context,
                                           const struct headwise_attention_call *call) {
    static const char where[] = "cache_append";
    struct headwise_attention_call given;
    struct headwise_ragged ragged;
    enum headwise_status status = headwise_take_call(&given, where, call);
    if (status == HEADWISE_OK)
        status = headwise_check_cache(where, context, given.cache);
    if (status != HEADWISE_OK)
        return status;
    bool packed = headwise_is_packed(&given);
    const headwise_cache *cache = given.cache;
    const struct headwise_tensor *k = given.k, *v = given.v;
    status = headwise_check_tensor(where, "k", k, false, packed ? 1 : -1, cache->n_kv_heads, -1,
                                   cache->head_dim);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "v", v, false, k->size[0], cache->n_kv_heads,
                                       k->size[2], cache->value_dim);
    if (status == HEADWISE_OK)
        status = headwise_check_rows(where, &ragged, &given, k->size[0], k->size[2], -1, true);
    if (status != HEADWISE_OK || headwise_tensor_empty(k))
        return status;
    struct headwise_cache_append append = {.cache = given.cache,
                                           .first_sequence = given.first_sequence,
                                           .ragged = packed ? &ragged : NULL,
                                           .k = *k,
                                           .v = *v};
    return headwise_cache_append_run(context, &append);
}

enum headwise_status headwise_cache_truncate(headwise_cache *cache, int64_t sequence,
                                             int64_t length) {
    static const char where[] = "cache_truncate";
    enum headwise_status status = headwise_check_sequence(where, cache, sequence);
    if (status != HEADWISE_OK)
        return status;
    if (length < 0 || length > cache->lengths[sequence])
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: length is %lld, expected 0 to %lld", where,
                             (long long)length, (long long)cache->lengths[sequence]);
    int64_t needed = headwise_cache_needed_from(cache, length);
    int64_t held_from = cache->held_from[sequence];
    if (cache->window > 0 && length > headwise_cache_pinned_keys(cache) && needed < held_from)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: at length %lld keys from %lld on are needed, but those before "
                             "%lld were dropped",
                             where, (long long)length, (long long)needed, (long long)held_from);
    headwise_cache_truncate_run(cache, sequence, length);
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_copy(headwise_cache *cache, int64_t dst, int64_t src) {
    enum headwise_status status = headwise_check_sequence("cache_copy", cache, dst);
    if (status == HEADWISE_OK)
        status = headwise_check_sequence("cache_copy", cache, src);
    if (status == HEADWISE_OK)
        headwise_cache_copy_run(cache, dst, src);
    return status;
}

enum headwise_status headwise_cache_reorder(headwise_cache *cache, const int64_t *from) {
    static const char where[] = "cache_reorder";
    if (!cache || !from)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             cache ? "from" : "cache");
    for (int64_t s = 0; s < cache->n_sequences; s++) {
        enum headwise_status status = headwise_check_sequence(where, cache, from[s]);
        if (status != HEADWISE_OK)
            return status;
    }
    headwise_cache_reorder_run(cache, from);
    return HEADWISE_OK;
}

static bool is_held(const headwise_cache *cache, int64_t sequence, int64_t position, int64_t n) {
    int64_t pinned = headwise_cache_pinned_keys(cache);
    int64_t held_from = cache->held_from[sequence];
    return n == 0 || held_from == pinned || position + n <= pinned || position >= held_from;
}

static enum headwise_status check_read(const headwise_cache *cache, int64_t sequence,
                                       int64_t position, const char *name,
                                       const struct headwise_tensor *t, int64_t columns) {
    static const char where[] = "cache_read";
    if (!t)
        return HEADWISE_OK;
    enum headwise_status status =
        headwise_check_tensor(where, name, t, true, 1, cache->n_kv_heads, -1, columns);
    if (status != HEADWISE_OK)
        return status;
    if (t->dtype != HEADWISE_F32)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s has type %s, expected f32", where, name,
                             headwise_dtype_name(t->dtype));
    int64_t length = cache->lengths[sequence];
    if (position < 0 || position > length || t->size[2] > length - position)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %lld rows from %lld on, but the sequence has %lld", where,
                             (long long)t->size[2], (long long)position, (long long)length);
    if (!is_held(cache, sequence, position, t->size[2]))
        return headwise_fail(
            HEADWISE_ERR_INVALID, "%s: rows from %lld on, but those from %lld to %lld were dropped",
            where, (long long)position, (long long)headwise_cache_pinned_keys(cache),
            (long long)(cache->held_from[sequence] - 1));
    return HEADWISE_OK;
}

enum headwise_status headwise_cache_read(const headwise_cache *cache, int64_t sequence,
                                         int64_t position, const struct headwise_tensor *k,
                                         const struct headwise_tensor *v) {
    HEADWISE_FLOAT_SCOPE();
    enum headwise_status status = headwise_check_sequence("cache_read", cache, sequence);
    if (status == HEADWISE_OK)
        status = check_read(cache, sequence, position, "k", k, cache->head_dim);
    if (status == HEADWISE_OK)
        status = check_read(cache, sequence, position, "v", v, cache->value_dim);
    if (status != HEADWISE_OK)
        return status;
    for (int64_t g = 0; g < cache->n_kv_heads; g++) {
        for (int64_t r = 0; k && r < k->size[2]; r++)
            headwise_cache_read_key(cache, headwise_tensor_row(k, 0, g, r), sequence, g,
                                    position + r);
        for (int64_t r = 0; v && r < v->size[2]; r++)
            headwise_cache_read_value(cache, headwise_tensor_row(v, 0, g, r), sequence, g,
                                      position + r);
    }
    return HEADWISE_OK;
}
