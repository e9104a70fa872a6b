/* A layer's calls over a cache. */
#include "api/check.h"
#include "api/check_layer.h"
#include "base/options.h"
#include "headwise/cache.h"

static enum headwise_status check_rows(const char *where, const char *name,
                                       const headwise_context *context, const headwise_mha *mha,
                                       const struct headwise_tensor *rows, int64_t columns,
                                       const headwise_cache *cache, int64_t first_sequence) {
    enum headwise_status status =
        headwise_check_layer_cache(where, context, mha, cache, first_sequence, 0);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, name, rows, false, -1, 1, -1, columns);
    if (status == HEADWISE_OK)
        status =
            headwise_check_layer_cache(where, context, mha, cache, first_sequence, rows->size[0]);
    return status;
}

/* A call in which n_queries rows of each sequence attend, once n_appended rows were appended. */
static enum headwise_status check_call(struct headwise_call *call, const char *where,
                                       const headwise_mha *mha, const headwise_cache *cache,
                                       int64_t first_sequence, int64_t n, int64_t n_queries,
                                       int64_t n_appended,
                                       const struct headwise_attention_options *options) {
    struct headwise_shape shape = headwise_layer_shape(
        mha, n, n_queries, headwise_most_keys(cache, first_sequence, n) + n_appended);
    shape.cache = cache;
    shape.first_sequence = first_sequence;
    shape.n_appended = n_appended;
    return headwise_check_call(call, where, &shape, options);
}

enum headwise_status headwise_mha_append(headwise_context *context, const headwise_mha *mha,
                                         headwise_cache *cache, int64_t first_sequence,
                                         const struct headwise_tensor *memory,
                                         const struct headwise_attention_options *options) {
    static const char where[] = "mha_append";
    struct headwise_attention_options given;
    struct headwise_call call;
    enum headwise_status status = check_rows(where, "memory", context, mha, memory,
                                             mha ? mha->d_memory : 0, cache, first_sequence);
    if (status == HEADWISE_OK)
        status = HEADWISE_COPY_OPTIONS(&given, options, "mha_append: options");
    if (status == HEADWISE_OK)
        status =
            headwise_check_room(where, cache, first_sequence, memory->size[0], memory->size[2]);
    if (status == HEADWISE_OK)
        status = check_call(&call, where, mha, cache, first_sequence, memory->size[0], 0,
                            memory->size[2], NULL);
    if (status != HEADWISE_OK || memory->size[0] == 0 || memory->size[2] == 0)
        return status;
    call.options.positions = given.positions;
    status = headwise_check_layer_positions(where, mha, &call, memory->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.memory = memory, .appended = cache};
    return headwise_mha_run(context, mha, &io, &call);
}

enum headwise_status headwise_mha_attend(headwise_context *context, const headwise_mha *mha,
                                         const struct headwise_tensor *y,
                                         const struct headwise_tensor *x,
                                         const headwise_cache *cache, int64_t first_sequence,
                                         const struct headwise_attention_options *options) {
    static const char where[] = "mha_attend";
    struct headwise_call call;
    enum headwise_status status =
        check_rows(where, "x", context, mha, x, mha ? mha->d_model : 0, cache, first_sequence);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, x->size[0], 1, x->size[2], mha->d_out);
    if (status == HEADWISE_OK)
        status = check_call(&call, where, mha, cache, first_sequence, x->size[0], x->size[2], 0,
                            options);
    if (status == HEADWISE_OK)
        status = headwise_check_layer_positions(where, mha, &call, x->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = y, .x = x};
    return headwise_mha_run(context, mha, &io, &call);
}

enum headwise_status headwise_mha_forward_cached(headwise_context *context, const headwise_mha *mha,
                                                 const struct headwise_tensor *y,
                                                 const struct headwise_tensor *x,
                                                 headwise_cache *cache, int64_t first_sequence,
                                                 const struct headwise_attention_options *options) {
    static const char where[] = "mha_forward_cached";
    struct headwise_call call;
    enum headwise_status status =
        check_rows(where, "x", context, mha, x, mha ? mha->d_model : 0, cache, first_sequence);
    if (status == HEADWISE_OK)
        status = headwise_check_own_keys(where, mha);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, x->size[0], 1, x->size[2], mha->d_out);
    if (status == HEADWISE_OK)
        status = headwise_check_room(where, cache, first_sequence, x->size[0], x->size[2]);
    if (status == HEADWISE_OK)
        status = check_call(&call, where, mha, cache, first_sequence, x->size[0], x->size[2],
                            x->size[2], options);
    if (status == HEADWISE_OK)
        status = headwise_check_layer_positions(where, mha, &call, x->size[2]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_mha_io io = {.y = y, .x = x, .appended = cache};
    return headwise_mha_run(context, mha, &io, &call);
}
