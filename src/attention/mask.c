#include "attention/mask.h"

#include <math.h>

#include "base/alloc.h"
#include "tensors/tensor.h"

/* Offsets and window sides may be any int64_t; sums of three of them are exact here. */
__extension__ typedef __int128 wide;

static int64_t clamp(wide x, int64_t lo, int64_t hi) {
    return x < lo ? lo : x > hi ? hi : (int64_t)x;
}

static int64_t key_length(const struct headwise_call *call, int64_t b) {
    return call->options.key_lengths ? call->options.key_lengths[b] : headwise_call_keys(call, b);
}

/* Position of query i on the axis of the keys. */
static wide query_position(const struct headwise_call *call, int64_t b, int64_t i) {
    if (call->options.query_offsets)
        return (wide)call->options.query_offsets[b] + i;
    if (call->options.causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        return (wide)key_length(call, b) - call->n_queries + i;
    return (wide)(call->cache ? headwise_call_keys(call, b) - call->n_queries : call->n_past) + i;
}

int64_t headwise_distance(const struct headwise_call *call, int64_t b, int64_t i, int64_t first) {
    int64_t far = (int64_t)1 << 62;
    return clamp(first - query_position(call, b, i), -far, far);
}

/* Keys lo ... hi-1, and before them 0 ... first-1; first <= lo. */
struct sight {
    int64_t first, lo, hi;
};

/* What lengths, causal, window and the mask's length leave to query i of batch entry b, within
 * [0, n_keys]. All three ends grow with i, so queries i0 ... i1-1 together see the first of i1-1,
 * and from the lo of i0 to the hi of i1-1. */
static struct sight visible_keys(const struct headwise_call *call, int64_t b, int64_t i) {
    const struct headwise_attention_options *options = &call->options;
    wide position = query_position(call, b, i);
    int64_t lo = 0;
    int64_t hi = headwise_min(key_length(call, b), call->mask_keys);
    if (options->causal != HEADWISE_CAUSAL_NONE)
        hi = clamp(position + 1, 0, hi);
    if (options->window_is_set && options->window_right >= 0)
        hi = clamp(position + options->window_right + 1, 0, hi);
    if (options->window_is_set && options->window_left >= 0)
        lo = clamp(position - options->window_left, 0, hi);
    return (struct sight){headwise_min(options->window_first, lo), lo, hi};
}

struct headwise_span headwise_block_span(const struct headwise_call *call, int64_t b, int64_t i0,
                                         int64_t i1, int64_t first, int64_t n) {
    struct sight from = visible_keys(call, b, i0), to = visible_keys(call, b, i1 - 1);
    int64_t lo = headwise_max(from.lo - first, 0);
    int64_t hi = headwise_min(to.hi - first, n);
    if (to.first > first) {
        hi = lo < hi ? hi : headwise_min(to.first - first, n);
        lo = 0;
    }
    return (struct headwise_span){lo, headwise_max(lo, hi)};
}

struct headwise_span headwise_window_span(const struct headwise_call *call, int64_t b) {
    return (struct headwise_span){visible_keys(call, b, 0).lo,
                                  visible_keys(call, b, call->n_queries - 1).hi};
}

struct headwise_blocks headwise_blocks_in_sight(const struct headwise_call *call, int64_t b,
                                                int64_t i0, int64_t i1) {
    struct sight from = visible_keys(call, b, i0), to = visible_keys(call, b, i1 - 1);
    struct headwise_blocks blocks = {.first = headwise_ceil_div(to.first, HEADWISE_KEY_BLOCK)};
    blocks.from = headwise_max(blocks.first, from.lo / HEADWISE_KEY_BLOCK);
    blocks.end = from.lo < to.hi ? headwise_ceil_div(to.hi, HEADWISE_KEY_BLOCK) : 0;
    blocks.end = headwise_max(blocks.end, blocks.from);
    return blocks;
}

struct headwise_reach headwise_reach_of(const struct headwise_call *call, int64_t n) {
    const struct headwise_attention_options *options = &call->options;
    int64_t left = options->window_left;
    int64_t right = options->causal != HEADWISE_CAUSAL_NONE ? 0 : options->window_right;
    if (!options->window_is_set || left < 0 || right < 0)
        return (struct headwise_reach){0, call->n_keys};
    wide window = (wide)left + right + n;
    return (struct headwise_reach){headwise_min(options->window_first, call->n_keys),
                                   clamp(window, 0, call->n_keys)};
}

bool headwise_all_visible(const struct headwise_call *call, int64_t b, int64_t i0, int64_t i1,
                          int64_t first, int64_t n) {
    struct sight from = visible_keys(call, b, i0), to = visible_keys(call, b, i1 - 1);
    bool after_gap = to.lo <= first || to.first == to.lo;
    bool before_gap = first + n <= to.first;
    return first + n <= from.hi && (after_gap || before_gap);
}

/* Makes x the same at every element. */
static const float *repeat(float *buffer, float x, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        buffer[j] = x;
    return buffer;
}

/* The bias of a head for keys first ... first+n-1 of a query at position p: a stretch of the head's
 * row of the table, with its first element repeated before and its last one after it. */
static void add_relative_bias(const struct headwise_kernels *kernels, float *s, const float *row,
                              int64_t reach, wide p, int64_t first, int64_t n, float *buffer) {
    int64_t from = clamp(p - reach - first, 0, n);
    int64_t to = clamp(p + reach + 1 - first, from, n);
    kernels->add_mask(s, repeat(buffer, row[0], from), from);
    if (to > from)
        kernels->add_mask(s + from, row + (int64_t)(first + from - p + reach), to - from);
    kernels->add_mask(s + to, repeat(buffer, row[2 * reach], n - to), n - to);
}

static void add_biases(const struct headwise_call *call, const struct headwise_kernels *kernels,
                       float *s, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                       float *buffer) {
    const struct headwise_attention_options *options = &call->options;
    wide p = query_position(call, b, i);
    int64_t reach = options->relative_reach;
    /* The distance is rounded where it is beyond 2^24: the same way, whatever first is. */
    int64_t in_block = first % HEADWISE_KEY_BLOCK;
    if (options->alibi_slopes)
        kernels->alibi(s, options->alibi_slopes[h], (float)(p - (first - in_block)), in_block, n);
    if (options->relative_bias)
        add_relative_bias(kernels, s, options->relative_bias + h * (2 * reach + 1), reach, p, first,
                          n, buffer);
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
    kernels->widen[mask->dtype](buffer, src, count);
    return broadcast ? repeat(buffer, buffer[0], n) : buffer;
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
    struct sight sight = visible_keys(call, b, i);
    int64_t lo = clamp(sight.lo - first, 0, n), hi = clamp(sight.hi - first, lo, n);
    struct headwise_span parts[2] = {{0, clamp(sight.first - first, 0, n)}, {lo, hi}};
    hide_span(s, parts[0].hi, lo);
    hide_span(s, hi, n);
    for (int p = 0; p < 2; p++) {
        float *part = s + parts[p].lo;
        int64_t key = first + parts[p].lo, count = parts[p].hi - parts[p].lo;
        if (headwise_has_bias(call) && count > 0)
            add_biases(call, kernels, part, b, h, i, key, count, buffer);
        if (call->mask.data && count > 0)
            apply_mask(call, kernels, part, b, h, i, key, count, buffer);
    }
}
