/* Checks of what the callers of attention give. */
#include "api/check.h"

#include <math.h>
#include <string.h>

#include "attention/ragged.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/options.h"
#include "cache/cache.h"
#include "tensors/tensor.h"

static enum headwise_status check_scalars(const char *where,
                                          const struct headwise_attention_options *options) {
    if (options->scale_is_set && !isfinite(options->scale))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: scale is %g, expected a finite number",
                             where, (double)options->scale);
    if (!isfinite(options->softcap) || options->softcap < 0.0f)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: softcap is %g, expected 0 (none) or a positive number", where,
                             (double)options->softcap);
    if ((unsigned)options->causal > HEADWISE_CAUSAL_BOTTOM_RIGHT)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: causal is %d, no headwise_causal", where,
                             (int)options->causal);
    if (options->window_is_set && (options->window_left < -1 || options->window_right < -1))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: window is (%lld, %lld), expected -1 (open) or a count on each side", where,
            (long long)options->window_left, (long long)options->window_right);
    if (options->window_first < 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: window_first is %lld, expected 0 or more",
                             where, (long long)options->window_first);
    if (!headwise_is_float(options->softmax_precision))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: softmax_precision is %s, expected f32, f16 or bf16", where,
                             headwise_dtype_name(options->softmax_precision));
    if (options->gate_batch_stride < 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: gate_batch_stride is %lld, expected 0 or more", where,
                             (long long)options->gate_batch_stride);
    return HEADWISE_OK;
}

static enum headwise_status check_biases(const char *where, const struct headwise_call *call) {
    const struct headwise_attention_options *options = &call->options;
    for (int64_t h = 0; options->sinks && h < call->n_heads; h++) {
        float sink = options->sinks[h];
        if (isnan(sink) || sink == INFINITY)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: sinks[%lld] is %g, expected a finite number or -inf", where,
                                 (long long)h, (double)sink);
    }
    for (int64_t h = 0; options->alibi_slopes && h < call->n_heads; h++) {
        if (!isfinite(options->alibi_slopes[h]))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: alibi_slopes[%lld] is %g, expected a finite number", where,
                                 (long long)h, (double)options->alibi_slopes[h]);
    }
    int64_t row, table;
    if (options->relative_reach < 0 || !headwise_mul(&row, options->relative_reach, 2) ||
        !headwise_sum(&row, row, 1) || !headwise_mul(&table, row, call->n_heads))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: relative_reach is %lld, expected 0 or more, and few enough for "
                             "an array of [%lld][2 * relative_reach + 1]",
                             where, (long long)options->relative_reach, (long long)call->n_heads);
    return HEADWISE_OK;
}

static enum headwise_status check_lengths(const char *where, const struct headwise_call *call) {
    const int64_t *lengths = call->options.key_lengths;
    const struct headwise_ragged *ragged = &call->ragged;
    int64_t n = ragged->query_starts ? ragged->n_sequences : call->batch;
    for (int64_t b = 0; lengths && b < n; b++) {
        int64_t n_keys =
            ragged->query_starts ? headwise_ragged_keys(call, b) : headwise_call_keys(call, b);
        if (lengths[b] < 0 || lengths[b] > n_keys)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: key_lengths[%lld] is %lld, expected 0 to %lld", where,
                                 (long long)b, (long long)lengths[b], (long long)n_keys);
    }
    return HEADWISE_OK;
}

/* Broadcasting by size 1 becomes broadcasting by stride 0. */
static enum headwise_status check_mask(struct headwise_call *call, const char *where) {
    call->mask_keys = call->n_keys;
    if (!call->options.mask)
        return HEADWISE_OK;
    struct headwise_tensor *mask = &call->mask;
    const int64_t full[4] = {call->batch, call->n_heads, call->n_queries, call->n_keys};
    *mask = *call->options.mask;
    if (!headwise_is_float(mask->dtype) && mask->dtype != HEADWISE_BOOL)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: mask has type %s, expected bool, f32, f16 or bf16", where,
                             headwise_dtype_name(mask->dtype));
    for (int axis = 0; axis < 3; axis++) {
        if (mask->size[axis] != full[axis] && mask->size[axis] != 1)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: mask has size %lld on its %s axis, expected %lld or 1", where,
                                 (long long)mask->size[axis], headwise_axis_names[axis],
                                 (long long)full[axis]);
        if (mask->size[axis] == 1)
            mask->stride[axis] = 0;
    }
    bool broadcast = mask->stride[3] == 0 && mask->size[3] >= 1;
    if (mask->size[3] < 0 || (mask->size[3] > full[3] && !broadcast))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: mask has size %lld on its column axis, expected at most %lld keys", where,
            (long long)mask->size[3], (long long)full[3]);
    if (!broadcast && mask->size[3] > 1 && mask->stride[3] != 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: mask has stride %lld on its column axis, expected 1 or 0", where,
                             (long long)mask->stride[3]);
    if (!broadcast) {
        mask->stride[3] = 1;
        call->mask_keys = mask->size[3];
    }
    if (headwise_tensor_empty(mask)) {
        mask->data = NULL;
        return HEADWISE_OK;
    }
    if (!mask->data)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the data of mask is NULL", where);
    return headwise_check_extent(where, "mask", mask);
}

static enum headwise_status check_past(struct headwise_call *call, const char *where,
                                       const struct headwise_shape *shape) {
    const struct headwise_tensor *key = call->options.past_key, *value = call->options.past_value;
    if (call->cache && (key || value || call->options.present_key || call->options.present_value))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: past and present tensors do not go with a cache", where);
    if (!key && !value)
        return HEADWISE_OK;
    enum headwise_status status = headwise_check_tensor(where, "past_key", key, false, shape->batch,
                                                        shape->n_kv_heads, -1, shape->head_dim);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "past_value", value, false, shape->batch,
                                       shape->n_kv_heads, key->size[2], shape->value_dim);
    if (status != HEADWISE_OK)
        return status;
    if (key->dtype != shape->k_type || value->dtype != shape->v_type)
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: past_key and past_value are %s and %s, expected %s and %s as new keys "
            "and values",
            where, headwise_dtype_name(key->dtype), headwise_dtype_name(value->dtype),
            headwise_dtype_name(shape->k_type), headwise_dtype_name(shape->v_type));
    call->past_key = *key;
    call->past_value = *value;
    call->n_past = key->size[2];
    return HEADWISE_OK;
}

static enum headwise_status check_present(const struct headwise_call *call, const char *where,
                                          const struct headwise_shape *shape, const char *name,
                                          const struct headwise_tensor *present,
                                          enum headwise_dtype type, int64_t columns,
                                          struct headwise_tensor *kept) {
    if (!present)
        return HEADWISE_OK;
    enum headwise_status status = headwise_check_tensor(where, name, present, true, shape->batch,
                                                        shape->n_kv_heads, call->n_keys, columns);
    if (status != HEADWISE_OK)
        return status;
    if (present->dtype != type)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s has type %s, expected %s", where, name,
                             headwise_dtype_name(present->dtype), headwise_dtype_name(type));
    *kept = *present;
    if (headwise_tensor_empty(present))
        kept->data = NULL;
    return HEADWISE_OK;
}

static enum headwise_status check_probe(struct headwise_call *call, const char *where) {
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": probe", 16);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&call->probe, call->options.probe, name);
    if (status != HEADWISE_OK)
        return status;
    if (call->probe.statistics)
        status = HEADWISE_COPY_OPTIONS(&call->statistics, call->probe.statistics, "statistics");
    if (status != HEADWISE_OK)
        return status;
    if ((unsigned)call->probe.score_stage > HEADWISE_SCORES_WEIGHTS)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: score_stage is %d, no headwise_score_stage",
                             name, (int)call->probe.score_stage);
    int64_t rows, scores, n_heads = headwise_max(call->n_heads, 1);
    bool fits =
        headwise_mul(&rows, call->batch, n_heads) && headwise_mul(&rows, rows, call->n_queries);
    if (call->ragged.query_starts)
        fits = fits && headwise_mul(&scores, headwise_ragged_pairs(call), n_heads);
    else
        fits = fits && headwise_mul(&scores, rows, call->n_keys);
    if (!fits || scores > (int64_t)(PTRDIFF_MAX / 8))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the number of scores overflows", where);
    return HEADWISE_OK;
}

static enum headwise_status check_heads(const char *where, const struct headwise_shape *shape) {
    if (shape->head_dim < 1 || shape->value_dim < 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: head sizes are %lld and %lld, expected 1 or more", where,
                             (long long)shape->head_dim, (long long)shape->value_dim);
    bool divides = shape->group_starts     ? true
                   : shape->n_kv_heads > 0 ? shape->n_heads % shape->n_kv_heads == 0
                                           : shape->n_heads == 0;
    if (!divides)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %lld query heads are not divisible by %lld kv heads", where,
                             (long long)shape->n_heads, (long long)shape->n_kv_heads);
    return HEADWISE_OK;
}

static void fill_sizes(struct headwise_call *call, const struct headwise_shape *shape) {
    HEADWISE_FLOAT_SCOPE();
    call->batch = shape->batch;
    call->n_heads = shape->n_heads;
    call->n_kv_heads = shape->n_kv_heads;
    call->group = shape->n_kv_heads > 0 ? shape->n_heads / shape->n_kv_heads : 0;
    call->group_starts = shape->group_starts;
    for (int64_t g = 0; shape->group_starts && g < shape->n_kv_heads; g++)
        call->group =
            headwise_max(call->group, shape->group_starts[g + 1] - shape->group_starts[g]);
    call->n_queries = call->probe_rows = shape->n_queries;
    if (shape->ragged)
        call->ragged = *shape->ragged;
    call->head_dim = shape->head_dim;
    call->value_dim = shape->value_dim;
    call->cache = shape->cache;
    call->first_sequence = shape->first_sequence;
    call->n_appended = shape->n_appended;
    if (shape->cache)
        call->lengths = shape->cache->lengths + shape->first_sequence;
    call->scale = call->options.scale_is_set ? call->options.scale
                                             : (float)(1.0 / sqrt((double)shape->head_dim));
}

enum headwise_status headwise_check_call(struct headwise_call *call, const char *where,
                                         const struct headwise_shape *shape,
                                         const struct headwise_attention_options *options) {
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": options", 16);
    memset(call, 0, sizeof *call);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&call->options, options, name);
    if (status == HEADWISE_OK)
        status = check_heads(where, shape);
    if (status == HEADWISE_OK)
        status = check_scalars(where, &call->options);
    if (status != HEADWISE_OK)
        return status;
    fill_sizes(call, shape);
    status = check_past(call, where, shape);
    if (status != HEADWISE_OK)
        return status;
    if (!headwise_sum(&call->n_keys, call->n_past, shape->n_new_keys))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the number of keys overflows", where);
    status = check_present(call, where, shape, "present_key", call->options.present_key,
                           shape->k_type, shape->head_dim, &call->present_key);
    if (status == HEADWISE_OK)
        status = check_present(call, where, shape, "present_value", call->options.present_value,
                               shape->v_type, shape->value_dim, &call->present_value);
    if (status == HEADWISE_OK)
        status = check_lengths(where, call);
    if (status == HEADWISE_OK)
        status = check_biases(where, call);
    if (status == HEADWISE_OK)
        status = check_mask(call, where);
    if (status == HEADWISE_OK)
        status = check_probe(call, where);
    if (status == HEADWISE_OK)
        status = headwise_check_ring(where, call);
    return status;
}
