/* Biases and masks of one row of scores, between the softcap and the softmax. */
#include "attention/mask.h"

#include <math.h>

#include "attention/visibility.h"
#include "base/alloc.h"
#include "tensors/tensor.h"

/* Makes x the same at every element. */
static const float *repeat(float *buffer, float x, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        buffer[j] = x;
    return buffer;
}

/* The bias of a head for n keys, of which the query stands ahead of the first by `ahead`: a stretch
 * of the head's row of the table, with its first element repeated before and its last one after
 * it. */
static void add_relative_bias(const struct headwise_kernels *kernels, float *s, const float *row,
                              int64_t reach, int64_t ahead, int64_t n, float *buffer) {
    int64_t from = headwise_clamp(headwise_held_sum(ahead, -reach), 0, n);
    int64_t to = headwise_clamp(headwise_held_sum(ahead, reach + 1), from, n);
    kernels->add_mask(s, repeat(buffer, row[0], from), from);
    if (to > from)
        kernels->add_mask(s + from, row + (from - ahead + reach), to - from);
    kernels->add_mask(s + to, repeat(buffer, row[2 * reach], n - to), n - to);
}

/* Hides the keys that a head's bias hides: a mask that is added behind it may hold +inf or NaN
 * there, and what is hidden stays hidden. */
static void hide_by_bias(float *s, const float *row, int64_t reach, int64_t ahead, int64_t n) {
    int64_t from = headwise_clamp(headwise_held_sum(ahead, -reach), 0, n);
    int64_t to = headwise_clamp(headwise_held_sum(ahead, reach + 1), from, n);
    for (int64_t j = 0; j < n; j++) {
        int64_t at = j < from ? 0 : j < to ? j - ahead + reach : 2 * reach;
        if (row[at] == -INFINITY)
            s[j] = -INFINITY;
    }
}

static void add_biases(const struct headwise_score_row *row, float *s, int64_t first, int64_t n) {
    const struct headwise_call *call = row->call;
    const struct headwise_attention_options *options = &call->options;
    int64_t reach = options->relative_reach;
    /* A distance beyond 2^24 is rounded: counted from the block, it is so whatever first is. */
    int64_t in_block = first % HEADWISE_KEY_BLOCK;
    if (options->alibi_slopes)
        row->kernels->alibi(
            s, options->alibi_slopes[row->head],
            (float)headwise_query_ahead(call, row->batch, row->query, first - in_block), in_block,
            n);
    if (options->relative_bias)
        add_relative_bias(row->kernels, s, options->relative_bias + row->head * (2 * reach + 1),
                          reach, headwise_query_ahead(call, row->batch, row->query, first), n,
                          row->buffer);
}

static void hide_span(float *s, int64_t from, int64_t to) {
    for (int64_t j = from; j < to; j++)
        s[j] = -INFINITY;
}

/* Row of a float mask as f32: the caller's own memory, or the buffer. */
static const float *float_mask(const struct headwise_score_row *row, const char *elements,
                               int64_t first, int64_t n) {
    const struct headwise_tensor *mask = &row->call->mask;
    const struct headwise_kernels *kernels = row->kernels;
    float *buffer = row->buffer;
    bool broadcast = mask->stride[3] == 0;
    int64_t count = broadcast ? 1 : n;
    const char *src =
        elements + (broadcast ? 0 : first) * (int64_t)headwise_dtype_size(mask->dtype);
    if (mask->dtype == HEADWISE_F32 && !broadcast)
        return (const float *)(const void *)src;
    kernels->widen[mask->dtype](buffer, src, count);
    return broadcast ? repeat(buffer, buffer[0], n) : buffer;
}

/* first + n does not reach beyond mask_keys. */
static void apply_mask(const struct headwise_score_row *row, float *s, int64_t first, int64_t n) {
    const struct headwise_tensor *mask = &row->call->mask;
    const char *elements = headwise_tensor_row(mask, row->batch, row->head, row->query);
    const struct headwise_attention_options *options = &row->call->options;
    int64_t reach = options->relative_reach;
    if (mask->dtype != HEADWISE_BOOL) {
        row->kernels->add_mask(s, float_mask(row, elements, first, n), n);
        if (options->relative_bias)
            hide_by_bias(s, options->relative_bias + row->head * (2 * reach + 1), reach,
                         headwise_query_ahead(row->call, row->batch, row->query, first), n);
    } else if (mask->stride[3] == 0) {
        if (!*elements)
            hide_span(s, 0, n);
    } else {
        row->kernels->hide(s, (const uint8_t *)elements + first, n);
    }
}

void headwise_mask_row(const struct headwise_score_row *row, float *s, int64_t first, int64_t n) {
    struct headwise_visible visible = headwise_visible_keys(row->call, row->batch, row->query);
    int64_t lo = headwise_clamp(visible.lo - first, 0, n);
    int64_t hi = headwise_clamp(visible.hi - first, lo, n);
    struct headwise_span spans[2] = {{0, headwise_clamp(visible.first - first, 0, n)}, {lo, hi}};
    hide_span(s, spans[0].hi, lo);
    hide_span(s, hi, n);
    for (int i = 0; i < 2; i++) {
        float *seen = s + spans[i].lo;
        int64_t key = first + spans[i].lo, count = spans[i].hi - spans[i].lo;
        if (headwise_has_bias(row->call) && count > 0)
            add_biases(row, seen, key, count);
        if (row->call->mask.data && count > 0)
            apply_mask(row, seen, key, count);
    }
}
