/* Takes the call of one sequence out of a ragged call. */
#include "attention/ragged.h"

#include "attention/visibility.h"
#include "base/alloc.h"
#include "base/search.h"
#include "tensors/tensor.h"

int64_t headwise_ragged_work(const struct headwise_call *call, int64_t b) {
    int64_t queries = headwise_ragged_queries(&call->ragged, b);
    struct headwise_reach reach = headwise_reach_of(call, queries);
    int64_t keys = headwise_min(headwise_ragged_keys(call, b), reach.first + reach.window);
    return queries * headwise_min(keys + 1, INT32_MAX);
}

int64_t headwise_ragged_add_pairs(int64_t pairs, const struct headwise_call *call, int64_t b) {
    int64_t more;
    bool fits = headwise_mul(&more, headwise_ragged_queries(&call->ragged, b),
                             headwise_ragged_keys(call, b)) &&
                headwise_sum(&more, pairs, more);
    return fits ? more : INT64_MAX;
}

int64_t headwise_ragged_pairs(const struct headwise_call *call) {
    int64_t pairs = 0;
    for (int64_t b = 0; b < call->ragged.n_sequences; b++)
        pairs = headwise_ragged_add_pairs(pairs, call, b);
    return pairs;
}

static int64_t first_row(const void *starts, int64_t b) {
    return ((const int32_t *)starts)[b];
}

int64_t headwise_ragged_position(const struct headwise_call *call, int64_t row) {
    const int32_t *starts = call->ragged.query_starts;
    int64_t n = call->ragged.n_sequences;
    if (row < starts[0] || row >= starts[n])
        return 0;
    int64_t b = headwise_find_last(starts, n, first_row, row);
    return headwise_ragged_first_position(call, b) + row - starts[b];
}

/* Every pointer of the probe moves to its sequence below. A new field stops the build here, until
 * it is moved too: both structs hold a size and pointers, the probe one enum more. */
_Static_assert(sizeof(struct headwise_probe) == 9 * sizeof(void *), "move the probe's new field");
_Static_assert(sizeof(struct headwise_statistics) == 9 * sizeof(void *), "move the new statistic");

static void move_rows(struct headwise_tensor *t, int64_t first, int64_t n) {
    if (t->data)
        t->data = headwise_tensor_row(t, 0, 0, first);
    t->size[2] = n;
}

static void move_floats(float **array, int64_t n, int64_t columns) {
    if (*array)
        *array += n * columns;
}

static void move_statistics(struct headwise_statistics *statistics, int64_t n) {
    move_floats(&statistics->entropy, n, 1);
    move_floats(&statistics->largest, n, 1);
    move_floats(&statistics->mean_distance, n, 1);
    move_floats(&statistics->self_weight, n, 1);
    move_floats(&statistics->previous_weight, n, 1);
    move_floats(&statistics->next_weight, n, 1);
    move_floats(&statistics->first_weight, n, 1);
    if (statistics->strongest)
        statistics->strongest += n;
}

void headwise_ragged_call(struct headwise_call *call, const struct headwise_call *all, int64_t b,
                          int64_t pairs) {
    const struct headwise_ragged *ragged = &all->ragged;
    int64_t query = ragged->query_starts[b], key = ragged->key_starts[b];
    int64_t sequence = headwise_ragged_sequence(ragged, b);
    *call = *all;
    call->ragged.query_starts = NULL;
    call->n_queries = headwise_ragged_queries(ragged, b);
    call->n_keys = call->mask_keys = headwise_ragged_keys(all, b);
    move_rows(&call->q, query, call->n_queries);
    move_rows(&call->y, query, call->n_queries);
    if (call->cache) {
        call->first_sequence = sequence;
        call->lengths += sequence;
        call->n_appended = all->n_appended > 0 ? call->n_queries : 0;
    } else {
        move_rows(&call->k, key, call->n_keys);
        move_rows(&call->v, key, call->n_keys);
    }
    if (call->query_offsets)
        call->query_offsets += b;
    if (call->key_lengths)
        call->key_lengths += b;
    if (call->head_gates)
        call->head_gates += b * call->gate_batch_stride;
    move_floats(&call->probe.lse, query, 1);
    move_floats(&call->probe.head_outputs, query, call->value_dim);
    move_floats(&call->probe.weights, pairs, call->n_heads);
    move_floats(&call->probe.scores, pairs, call->n_heads);
    move_floats(&call->probe.mean_weights, pairs, 1);
    move_statistics(&call->statistics, query);
}
