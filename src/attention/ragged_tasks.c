/* Plans a ragged call, keeps the table of its sequences, and runs their tasks. */
#include "attention/ragged_tasks.h"

#include <math.h>

#include "attention/ragged.h"
#include "attention/tasks.h"
#include "base/alloc.h"
#include "base/scratch.h"
#include "base/search.h"
#include "context/waking.h"

/* Threads that sequence b is cut into tasks for, as if it were alone on them: twice its share of
 * the work, so that no task is long beside a thread's part of all. Above 1 it is large. */
static int count_threads(const struct headwise_attention_job *job, const struct headwise_call *call,
                         int64_t b) {
    double part = (double)headwise_ragged_work(call, b) / (double)job->ragged.work;
    double threads = ceil(2 * job->n_threads * part);
    return threads > 1 ? (int)fmin(threads, job->n_threads) : 1;
}

/* A plan that headwise_plan_narrow() makes serve every sequence that is not large. */
static void plan_small(struct headwise_attention_job *job, const struct headwise_call *call,
                       const struct headwise_kernels *kernels) {
    struct headwise_call most = *call;
    most.n_queries = most.n_keys = 0;
    for (int64_t b = 0; b < call->ragged.n_sequences; b++) {
        if (count_threads(job, call, b) > 1)
            continue;
        most.n_queries = headwise_max(most.n_queries, headwise_ragged_queries(&call->ragged, b));
        most.n_keys = headwise_max(most.n_keys, headwise_ragged_keys(call, b));
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
        state->work += headwise_ragged_work(call, b);
    plan_small(job, call, kernels);
    job->worker_stride = job->plan.scratch_bytes < 0 ? -1 : job->plan.worker_floats;
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        struct headwise_call one;
        struct headwise_plan plan;
        int n_threads = count_threads(job, call, b);
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
    job->scratch_bytes = headwise_float_bytes(floats);
}

/* A sequence at work. */
struct sequence {
    struct headwise_call call;
    struct headwise_attention_job job; /* its plan's call is the one above */
};

static void open_sequence(struct sequence *sequence, const struct headwise_attention_job *job,
                          const struct headwise_ragged_entry *entry) {
    headwise_ragged_call(&sequence->call, job->plan.call, entry->sequence, entry->first_pair);
    sequence->job = (struct headwise_attention_job){
        .n_threads = entry->n_threads,
        .shared = job->shared + entry->at_shared,
        .workers = job->workers,
        .worker_stride = job->worker_stride,
    };
    struct headwise_plan *plan = &sequence->job.plan;
    if (entry->n_threads > 1) {
        headwise_plan_init(plan, &sequence->call, job->plan.kernels, entry->n_threads);
    } else {
        *plan = job->plan;
        headwise_plan_narrow(plan, &sequence->call);
    }
}

/* Multiply-adds of a task beside which finding its sequence (0.3 us) does not count. */
enum { TASK_WORK = 256 * 1024 };

/* Large sequences come first, then the others by the number of digits of their work: what is
 * started last is short. */
static int rank_of(const struct headwise_attention_job *job, int64_t b) {
    const struct headwise_call *call = job->plan.call;
    int64_t work = headwise_ragged_work(call, b);
    if (count_threads(job, call, b) > 1)
        return 0;
    return work > 0 ? 1 + __builtin_clzll((unsigned long long)work) : 65;
}

static void sort_entries(const struct headwise_attention_job *job) {
    const struct headwise_ragged *ragged = &job->plan.call->ragged;
    int64_t ends[67] = {0}, pairs = 0; /* ends[r + 1] counts rank r, then ends[r] is its place */
    for (int64_t b = 0; b < ragged->n_sequences; b++)
        ends[rank_of(job, b) + 1]++;
    for (int r = 0; r < 66; r++)
        ends[r + 1] += ends[r];
    for (int64_t b = 0; b < ragged->n_sequences; b++) {
        job->ragged.entries[ends[rank_of(job, b)]++] =
            (struct headwise_ragged_entry){.sequence = (int32_t)b,
                                           .first_pair = pairs,
                                           .n_threads = count_threads(job, job->plan.call, b)};
        pairs = headwise_ragged_add_pairs(pairs, job->plan.call, b);
    }
}

/* A small sequence: its tiles, of all heads, and how many of them make a task. */
static int64_t place_small(const struct headwise_attention_job *job,
                           struct headwise_ragged_entry *entry) {
    const struct headwise_call *call = job->plan.call;
    int64_t b = entry->sequence;
    int64_t tiles =
        job->plan.n_head_tasks *
        headwise_ceil_div(headwise_ragged_queries(&call->ragged, b), job->plan.tile_queries);
    double work = (double)headwise_ragged_work(call, b) * (double)call->n_heads *
                  (double)(call->head_dim + call->value_dim);
    double step = (double)TASK_WORK / (work + 1) * (double)tiles;
    entry->step = (int32_t)fmax(1, fmin(step, fmin((double)tiles, INT32_MAX)));
    return headwise_ceil_div(tiles, entry->step);
}

/* A large sequence: its tasks, and its part of what all large ones share. */
static int64_t place_large(struct headwise_attention_job *job, struct headwise_ragged_entry *entry,
                           int64_t *shared) {
    struct sequence sequence;
    open_sequence(&sequence, job, entry);
    const struct headwise_plan *plan = &sequence.job.plan;
    entry->step = 1;
    entry->at_shared = *shared;
    entry->first_tile = job->ragged.n_tiles;
    job->ragged.n_tiles += headwise_count_tiles(plan);
    headwise_take(shared, 1, plan->shared_floats);
    return headwise_count_tiles(plan) * plan->n_splits;
}

void headwise_ragged_bind(struct headwise_attention_job *job, float *scratch) {
    struct headwise_ragged_state *state = &job->ragged;
    int64_t shared = 0;
    state->entries = (struct headwise_ragged_entry *)(void *)scratch;
    job->shared = scratch + state->table_floats;
    sort_entries(job);
    for (int64_t e = 0; e < job->plan.call->ragged.n_sequences; e++) {
        struct headwise_ragged_entry *entry = &state->entries[e];
        entry->first_task = state->n_tasks;
        state->n_tasks +=
            entry->n_threads > 1 ? place_large(job, entry, &shared) : place_small(job, entry);
    }
    job->workers = job->shared + shared;
}

static int64_t first_task(const void *entries, int64_t e) {
    return ((const struct headwise_ragged_entry *)entries)[e].first_task;
}

static int64_t first_tile(const void *entries, int64_t e) {
    return ((const struct headwise_ragged_entry *)entries)[e].first_tile;
}

static void attend_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    struct sequence sequence;
    const struct headwise_ragged_entry *entries = job->ragged.entries;
    const struct headwise_ragged_entry *entry = &entries[headwise_find_last(
        entries, job->plan.call->ragged.n_sequences, first_task, index)];
    open_sequence(&sequence, job, entry);
    const struct headwise_plan *plan = &sequence.job.plan;
    int64_t first = (index - entry->first_task) * entry->step;
    int64_t last = headwise_min(first + entry->step, headwise_count_tiles(plan) * plan->n_splits);
    for (int64_t i = first; i < last; i++) {
        if (plan->n_splits > 1)
            headwise_split_task(&sequence.job, i, worker);
        else
            headwise_attend_task(&sequence.job, i, worker);
    }
}

/* A tile of a large sequence; there is nothing to join where its keys are not split. */
static void join_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    struct sequence sequence;
    const struct headwise_ragged_entry *entries = job->ragged.entries;
    const struct headwise_ragged_entry *entry =
        &entries[headwise_find_last(entries, job->ragged.n_large, first_tile, index)];
    open_sequence(&sequence, job, entry);
    if (sequence.job.plan.n_splits > 1)
        headwise_join_task(&sequence.job, index - entry->first_tile, worker);
}

int headwise_ragged_phases(const struct headwise_attention_job *job,
                           struct headwise_phase *phases) {
    const struct headwise_ragged_state *state = &job->ragged;
    void *arg = (void *)(uintptr_t)job;
    int n = 0;
    phases[n++] = (struct headwise_phase){state->n_tasks, attend_task, arg};
    if (state->splits)
        phases[n++] = (struct headwise_phase){state->n_tiles, join_task, arg};
    return n;
}

bool headwise_ragged_is_tiny(const struct headwise_attention_job *job) {
    const struct headwise_call *call = job->plan.call;
    double columns = (double)call->n_heads * (double)(call->head_dim + call->value_dim);
    return headwise_is_tiny((double)job->ragged.work * columns, HEADWISE_WAKING_ATTENTION);
}
