/* What every call shares: its options, its biases, its probe, and the sizes that follow. */
#include "api/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention/ragged.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/options.h"
#include "cache/cache.h"
#include "tensors/tensor.h"

enum headwise_status headwise_copy_given(void *dst, size_t dst_size, const void *given,
                                         const char *where, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "%.40s: %s", where, what);
    return headwise_copy_options(dst, dst_size, given, name);
}

enum headwise_status headwise_take_call(struct headwise_attention_call *given, const char *where,
                                        const struct headwise_attention_call *call) {
    if (!call)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: call is NULL", where);
    return headwise_copy_given(given, sizeof *given, call, where, "call");
}

enum headwise_status headwise_check_absent(const char *where, const char *name, const void *given,
                                           const char *why) {
    if (given)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is given, expected NULL: %s", where,
                             name, why);
    return HEADWISE_OK;
}

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
    const int64_t *lengths = call->key_lengths;
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

static enum headwise_status check_past(struct headwise_call *call, const char *where,
                                       const struct headwise_shape *shape,
                                       const struct headwise_attention_call *given) {
    const struct headwise_tensor *key = given->past_key, *value = given->past_value;
    if (call->cache && (key || value || given->present_key || given->present_value))
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

static enum headwise_status check_probe(struct headwise_call *call, const char *where,
                                        const struct headwise_probe *given) {
    enum headwise_status status =
        headwise_copy_given(&call->probe, sizeof call->probe, given, where, "probe");
    if (status == HEADWISE_OK && call->probe.statistics)
        status = HEADWISE_COPY_OPTIONS(&call->statistics, call->probe.statistics, "statistics");
    if (status != HEADWISE_OK)
        return status;
    if ((unsigned)call->probe.score_stage > HEADWISE_SCORES_WEIGHTS)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: probe: score_stage is %d, no headwise_score_stage", where,
                             (int)call->probe.score_stage);
    int64_t rows, scores, n_heads = headwise_max(call->n_heads, 1);
    bool fits =
        headwise_mul(&rows, call->batch, n_heads) && headwise_mul(&rows, rows, call->n_queries);
    if (call->ragged.query_starts)
        fits = fits && headwise_mul(&scores, headwise_ragged_pairs(call), n_heads);
    else
        fits = fits && headwise_mul(&scores, rows, call->n_keys);
    if (!fits || scores > INT64_MAX / 8)
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

/* What has no shape where sequences are packed. */
static enum headwise_status check_packed(const char *where,
                                         const struct headwise_attention_call *given) {
    const struct {
        const char *name;
        const void *given;
    } refused[] = {{"mask", given->mask},
                   {"past_key", given->past_key},
                   {"past_value", given->past_value},
                   {"present_key", given->present_key},
                   {"present_value", given->present_value}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].given)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has no ragged shape, expected NULL with query_starts",
                                 where, refused[i].name);
    }
    return HEADWISE_OK;
}

/* Options and what holds for one call, without what depends on its sizes. */
static enum headwise_status take_given(struct headwise_call *call, const char *where,
                                       const struct headwise_shape *shape,
                                       const struct headwise_attention_call *given) {
    enum headwise_status status =
        headwise_copy_given(&call->options, sizeof call->options, given->options, where, "options");
    if (status == HEADWISE_OK && shape->ragged)
        status = check_packed(where, given);
    if (status == HEADWISE_OK)
        status = check_heads(where, shape);
    if (status == HEADWISE_OK)
        status = check_scalars(where, &call->options);
    if (status == HEADWISE_OK && given->gate_batch_stride < 0)
        status =
            headwise_fail(HEADWISE_ERR_INVALID, "%s: gate_batch_stride is %lld, expected 0 or more",
                          where, (long long)given->gate_batch_stride);
    call->query_offsets = given->query_offsets;
    call->key_lengths = given->key_lengths;
    call->positions = given->positions;
    call->head_gates = given->head_gates;
    call->gate_batch_stride = given->gate_batch_stride;
    return status;
}

enum headwise_status headwise_check_call(struct headwise_call *call, const char *where,
                                         const struct headwise_shape *shape,
                                         const struct headwise_attention_call *given) {
    memset(call, 0, sizeof *call);
    enum headwise_status status = take_given(call, where, shape, given);
    if (status != HEADWISE_OK)
        return status;
    fill_sizes(call, shape);
    status = check_past(call, where, shape, given);
    if (status != HEADWISE_OK)
        return status;
    if (!headwise_sum(&call->n_keys, call->n_past, shape->n_new_keys))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the number of keys overflows", where);
    status = check_present(call, where, shape, "present_key", given->present_key, shape->k_type,
                           shape->head_dim, &call->present_key);
    if (status == HEADWISE_OK)
        status = check_present(call, where, shape, "present_value", given->present_value,
                               shape->v_type, shape->value_dim, &call->present_value);
    if (status == HEADWISE_OK)
        status = check_lengths(where, call);
    if (status == HEADWISE_OK)
        status = check_biases(where, call);
    if (status == HEADWISE_OK)
        status = headwise_check_mask(where, call, given->mask);
    if (status == HEADWISE_OK)
        status = check_probe(call, where, given->probe);
    if (status == HEADWISE_OK)
        status = headwise_check_ring(where, call);
    return status;
}
