#include "ragged.h"

#include <math.h>

#include "alloc.h"
#include "tensor.h"

int64_t headwise_ragged_pairs(const struct headwise_ragged *ragged) {
    int64_t pairs = 0;
    for (int64_t b = 0; b < ragged->n_sequences; b++)
        pairs += headwise_ragged_queries(ragged, b) * headwise_ragged_keys(ragged, b);
    return pairs;
}

int64_t headwise_ragged_place(const int32_t *starts, int64_t n_sequences, int64_t row) {
    if (row < starts[0] || row >= starts[n_sequences])
        return 0;
    int64_t lo = 0, hi = n_sequences; /* starts[lo] <= row < starts[hi] */
    while (hi - lo > 1) {
        int64_t middle = lo + (hi - lo) / 2;
        if (starts[middle] <= row)
            lo = middle;
        else
            hi = middle;
    }
    return row - starts[lo];
}

static void move_rows(struct headwise_tensor *t, int64_t first, int64_t n) {
    if (t->data)
        t->data = headwise_tensor_row(t, 0, 0, first);
    t->size[2] = n;
}

static void move_floats(float **array, int64_t n) {
    if (*array)
        *array += n;
}

static void move_statistics(struct headwise_statistics *statistics, int64_t n) {
    move_floats(&statistics->entropy, n);
    move_floats(&statistics->largest, n);
    move_floats(&statistics->mean_distance, n);
    move_floats(&statistics->self_weight, n);
    move_floats(&statistics->previous_weight, n);
    move_floats(&statistics->next_weight, n);
    move_floats(&statistics->first_weight, n);
    if (statistics->strongest)
        statistics->strongest += n;
}

void headwise_ragged_call(struct headwise_call *call, const struct headwise_call *all, int64_t b,
                          int64_t pairs) {
    const struct headwise_ragged *ragged = &all->ragged;
    int64_t query = ragged->query_starts[b], key = ragged->key_starts[b];
    *call = *all;
    call->ragged.query_starts = NULL;
    call->n_queries = headwise_ragged_queries(ragged, b);
    call->n_keys = call->mask_keys = headwise_ragged_keys(ragged, b);
    move_rows(&call->q, query, call->n_queries);
    move_rows(&call->y, query, call->n_queries);
    move_rows(&call->k, key, call->n_keys);
    move_rows(&call->v, key, call->n_keys);
    if (call->options.query_offsets)
        call->options.query_offsets += b;
    if (call->options.key_lengths)
        call->options.key_lengths += b;
    if (call->options.head_gates)
        call->options.head_gates += b * call->options.gate_batch_stride;
    move_floats(&call->probe.lse, query);
    move_floats(&call->probe.head_outputs, query * call->value_dim);
    move_floats(&call->probe.weights, call->n_heads * pairs);
    move_floats(&call->probe.scores, call->n_heads * pairs);
    move_floats(&call->probe.mean_weights, pairs);
    move_statistics(&call->statistics, query);
}

int headwise_ragged_threads(const struct headwise_attention_job *job,
                            const struct headwise_call *call, int64_t b) {
    double part = (double)headwise_ragged_work(&call->ragged, b) / (double)job->ragged.work;
    double threads = ceil(2 * job->n_threads * part);
    return threads > 1 ? (int)fmin(threads, job->n_threads) : 1;
}

/* A plan that headwise_plan_narrow() makes serve every sequence that is not large. */
static void plan_small(struct headwise_attention_job *job, const struct headwise_call *call,
                       const struct headwise_kernels *kernels) {
    struct headwise_call most = *call;
    most.n_queries = most.n_keys = 0;
    for (int64_t b = 0; b < call->ragged.n_sequences; b++) {
        if (headwise_ragged_threads(job, call, b) > 1)
            continue;
        most.n_queries = headwise_max(most.n_queries, headwise_ragged_queries(&call->ragged, b));
        most.n_keys = headwise_max(most.n_keys, headwise_ragged_keys(&call->ragged, b));
    }
    headwise_plan_init(&job->plan, &most, kernels, 1);
    job->plan.call = call;
}

/* Adds what a large sequence needs of scratch; -1 where it overflows. */
static void add_large(struct headwise_attention_job *job, int64_t *shared,
                      const struct headwise_plan *plan) {
    if (plan->scratch_bytes < 0)
        job->worker_stride = -1;
    else if (job->worker_stride >= 0)
        job->worker_stride = headwise_max(job->worker_stride, plan->worker_floats);
    headwise_take(shared, 1, plan->shared_floats);
}

void headwise_ragged_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                          const struct headwise_kernels *kernels) {
    const struct headwise_ragged *ragged = &call->ragged;
    struct headwise_ragged_state *state = &job->ragged;
    int64_t floats = 0, shared = 0, bytes = sizeof(struct headwise_ragged_entry);
    for (int64_t b = 0; b < ragged->n_sequences; b++)
        state->work += headwise_ragged_work(ragged, b);
    plan_small(job, call, kernels);
    job->worker_stride = job->plan.scratch_bytes < 0 ? -1 : job->plan.worker_floats;
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        struct headwise_call one;
        struct headwise_plan plan;
        int n_threads = headwise_ragged_threads(job, call, b);
        if (n_threads == 1)
            continue;
        headwise_ragged_call(&one, call, b, 0);
        headwise_plan_init(&plan, &one, kernels, n_threads);
        add_large(job, &shared, &plan);
        state->n_large++;
        state->splits |= plan.n_splits > 1;
    }
    headwise_take(&floats, ragged->n_sequences, bytes / (int64_t)sizeof(float));
    state->table_floats = floats;
    headwise_take(&floats, 1, shared);
    headwise_take(&floats, job->n_threads, job->worker_stride);
    if (shared < 0 || job->worker_stride < 0 || floats < 0 ||
        !headwise_mul(&job->scratch_bytes, floats, sizeof(float)))
        job->scratch_bytes = -1;
}
