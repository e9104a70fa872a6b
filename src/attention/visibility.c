/* From causal, window, lengths and offsets to the keys that a query sees. */
#include "attention/visibility.h"

#include "base/alloc.h"

static int64_t key_length(const struct headwise_call *call, int64_t b) {
    return call->key_lengths ? call->key_lengths[b] : headwise_call_keys(call, b);
}

/* Position of query 0 on the axis of the keys. */
static int64_t first_position(const struct headwise_call *call, int64_t b) {
    if (call->query_offsets)
        return call->query_offsets[b];
    if (call->options.causal == HEADWISE_CAUSAL_BOTTOM_RIGHT)
        return key_length(call, b) - call->n_queries;
    return call->cache ? headwise_call_keys(call, b) - call->n_queries : call->n_past;
}

/* Numbers of queries and keys are far from the ends of int64_t: only one sum can leave it. */
int64_t headwise_query_ahead(const struct headwise_call *call, int64_t b, int64_t i, int64_t j) {
    return headwise_held_sum(first_position(call, b), i - j);
}

int64_t headwise_distance(const struct headwise_call *call, int64_t b, int64_t i, int64_t first) {
    int64_t far = (int64_t)1 << 62;
    return -headwise_clamp(headwise_query_ahead(call, b, i, first), -far, far);
}

/* The side is taken off before i is added, which could leave int64_t: the sum that is held then is
 * far from every key, whichever end holds it. */
static int64_t window_begin(const struct headwise_call *call, int64_t b, int64_t i) {
    int64_t first = first_position(call, b);
    return headwise_held_sum(headwise_held_sum(first, -call->options.window_left), i);
}

struct headwise_visible headwise_visible_keys(const struct headwise_call *call, int64_t b,
                                              int64_t i) {
    const struct headwise_attention_options *options = &call->options;
    int64_t ahead = headwise_query_ahead(call, b, i, 0);
    int64_t lo = 0;
    int64_t hi = headwise_min(key_length(call, b), call->mask_keys);
    if (options->causal != HEADWISE_CAUSAL_NONE)
        hi = headwise_clamp(headwise_held_sum(ahead, 1), 0, hi);
    if (options->window_is_set && options->window_right >= 0)
        hi = headwise_clamp(headwise_held_sum(headwise_held_sum(ahead, options->window_right), 1),
                            0, hi);
    if (options->window_is_set && options->window_left >= 0)
        lo = headwise_clamp(window_begin(call, b, i), 0, hi);
    return (struct headwise_visible){headwise_min(options->window_first, lo), lo, hi};
}

struct headwise_span headwise_block_span(const struct headwise_call *call, int64_t b, int64_t i0,
                                         int64_t i1, int64_t first, int64_t n) {
    struct headwise_visible from = headwise_visible_keys(call, b, i0),
                            to = headwise_visible_keys(call, b, i1 - 1);
    int64_t lo = headwise_max(from.lo - first, 0);
    int64_t hi = headwise_min(to.hi - first, n);
    if (to.first > first) {
        hi = lo < hi ? hi : headwise_min(to.first - first, n);
        lo = 0;
    }
    return (struct headwise_span){lo, headwise_max(lo, hi)};
}

struct headwise_span headwise_window_span(const struct headwise_call *call, int64_t b) {
    return (struct headwise_span){headwise_visible_keys(call, b, 0).lo,
                                  headwise_visible_keys(call, b, call->n_queries - 1).hi};
}

struct headwise_blocks headwise_visible_blocks(const struct headwise_call *call, int64_t b,
                                               int64_t i0, int64_t i1) {
    struct headwise_visible from = headwise_visible_keys(call, b, i0),
                            to = headwise_visible_keys(call, b, i1 - 1);
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
    int64_t window = headwise_held_sum(headwise_held_sum(left, right), n);
    return (struct headwise_reach){headwise_min(options->window_first, call->n_keys),
                                   headwise_clamp(window, 0, call->n_keys)};
}

bool headwise_all_visible(const struct headwise_call *call, int64_t b, int64_t i0, int64_t i1,
                          int64_t first, int64_t n) {
    struct headwise_visible from = headwise_visible_keys(call, b, i0),
                            to = headwise_visible_keys(call, b, i1 - 1);
    bool after_gap = to.lo <= first || to.first == to.lo;
    bool before_gap = first + n <= to.first;
    return first + n <= from.hi && (after_gap || before_gap);
}
