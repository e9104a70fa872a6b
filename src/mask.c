#include "mask.h"

#include <math.h>

#include "alloc.h"
#include "tensor.h"

/* Offsets and window sides may be any int64_t; sums of three of them are exact here. */
__extension__ typedef __int128 wide;

static int64_t clamp(wide x, int64_t lo, int64_t hi) {
    return x < lo ? lo : x > hi ? hi : (int64_t)x;
}

static int64_t key_length(const struct headwise_call *call, int64_t b) {
    return call->options.key_lengths ? call->options.key_lengths[b] : call->n_keys;
}

/* Position of query 0 on the axis of the keys. */
static int64_t query_offset(const struct headwise_call *call, int64_t b) {
    if (call->options.query_offsets)
        return call->options.query_offsets[b];
    if (call->options.causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        return key_length(call, b) - call->n_queries;
    return call->n_past;
}

struct headwise_span headwise_visible_keys(const struct headwise_call *call, int64_t b, int64_t i) {
    const struct headwise_attention_options *options = &call->options;
    wide position = (wide)query_offset(call, b) + i;
    int64_t lo = 0;
    int64_t hi = headwise_min(key_length(call, b), call->mask_keys);
    if (options->causal != HEADWISE_CAUSAL_NONE)
        hi = clamp(position + 1, 0, hi);
    if (options->window_is_set && options->window_right >= 0)
        hi = clamp(position + options->window_right + 1, 0, hi);
    if (options->window_is_set && options->window_left >= 0)
        lo = clamp(position - options->window_left, 0, hi);
    return (struct headwise_span){lo, hi};
}

static void hide_span(float *s, int64_t from, int64_t to) {
    for (int64_t j = from; j < to; j++)
        s[j] = -INFINITY;
}

/* Row of a float mask as f32: the caller's own memory, or buffer. */
static const float *float_mask(const struct headwise_call *call,
                               const struct headwise_kernels *kernels, const char *row,
                               int64_t first, int64_t n, float *buffer) {
    const struct headwise_tensor *mask = &call->mask;
    bool broadcast = mask->stride[3] == 0;
    int64_t count = broadcast ? 1 : n;
    const char *src = row + (broadcast ? 0 : first) * (int64_t)headwise_dtype_size(mask->dtype);
    if (mask->dtype == HEADWISE_F32 && !broadcast)
        return (const float *)(const void *)src;
    if (mask->dtype == HEADWISE_F32)
        buffer[0] = *(const float *)(const void *)src;
    else if (mask->dtype == HEADWISE_F16)
        kernels->widen_f16(buffer, (const uint16_t *)(const void *)src, count);
    else
        kernels->widen_bf16(buffer, (const uint16_t *)(const void *)src, count);
    for (int64_t j = 1; broadcast && j < n; j++)
        buffer[j] = buffer[0];
    return buffer;
}

/* first + n does not reach beyond mask_keys. */
static void apply_mask(const struct headwise_call *call, const struct headwise_kernels *kernels,
                       float *s, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                       float *buffer) {
    const char *row = headwise_tensor_row(&call->mask, b, h, i);
    if (call->mask.dtype != HEADWISE_BOOL) {
        kernels->add_mask(s, float_mask(call, kernels, row, first, n, buffer), n);
    } else if (call->mask.stride[3] == 0) {
        if (!*row)
            hide_span(s, 0, n);
    } else {
        kernels->hide(s, (const uint8_t *)row + first, n);
    }
}

void headwise_mask_row(const struct headwise_call *call, const struct headwise_kernels *kernels,
                       float *s, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                       float *buffer) {
    struct headwise_span span = headwise_visible_keys(call, b, i);
    int64_t lo = headwise_min(headwise_max(span.lo - first, 0), n);
    int64_t hi = headwise_min(headwise_max(span.hi - first, lo), n);
    hide_span(s, 0, lo);
    hide_span(s, hi, n);
    if (call->mask.data && hi > lo)
        apply_mask(call, kernels, s + lo, b, h, i, first + lo, hi - lo, buffer);
}
