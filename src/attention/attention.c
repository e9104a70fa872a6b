/* The driver: from a checked call to a plan, scratch and parallel phases. */
#include "attention/attention.h"

#include <string.h>

#include "attention/ragged.h"
#include "attention/ragged_tasks.h"
#include "attention/tasks.h"
#include "base/error.h"
#include "context/parallel.h"
#include "tensors/tensor.h"

static void copy_rows(const struct headwise_tensor *dst, int64_t first,
                      const struct headwise_tensor *src, int64_t b, int64_t h) {
    size_t row_bytes = (size_t)src->size[3] * headwise_dtype_size(src->dtype);
    for (int64_t r = 0; r < src->size[2]; r++)
        memcpy(headwise_tensor_row(dst, b, h, first + r), headwise_tensor_row(src, b, h, r),
               row_bytes);
}

/* Past and new rows of one kv head, one after the other. */
static void present_task(void *arg, int64_t index, int worker) {
    const struct headwise_attention_job *job = arg;
    const struct headwise_call *call = job->plan.call;
    int64_t b = index / call->n_kv_heads, g = index % call->n_kv_heads;
    (void)worker;
    if (call->present_key.data) {
        copy_rows(&call->present_key, 0, &call->past_key, b, g);
        copy_rows(&call->present_key, call->n_past, &call->k, b, g);
    }
    if (call->present_value.data) {
        copy_rows(&call->present_value, 0, &call->past_value, b, g);
        copy_rows(&call->present_value, call->n_past, &call->v, b, g);
    }
}

static bool is_ragged(const struct headwise_attention_job *job) {
    return job->plan.call->ragged.query_starts != NULL;
}

void headwise_attention_plan(struct headwise_attention_job *job, const struct headwise_call *call,
                             const struct headwise_kernels *kernels, int n_threads) {
    *job = (struct headwise_attention_job){.n_threads = n_threads};
    if (call->ragged.query_starts) {
        headwise_ragged_plan(job, call, kernels);
        return;
    }
    headwise_plan_init(&job->plan, call, kernels, n_threads);
    job->worker_stride = job->plan.worker_floats;
    job->scratch_bytes = job->plan.scratch_bytes;
}

/* The mean over no heads, which no task is there to write. */
static void clear_mean(const struct headwise_call *call) {
    int64_t pairs = call->ragged.query_starts ? headwise_ragged_pairs(call)
                                              : call->batch * call->n_queries * call->n_keys;
    if (call->n_heads == 0 && call->probe.mean_weights)
        memset(call->probe.mean_weights, 0, (size_t)pairs * sizeof(float));
}

void headwise_attention_bind(struct headwise_attention_job *job, float *scratch) {
    clear_mean(job->plan.call);
    if (is_ragged(job)) {
        headwise_ragged_bind(job, scratch);
        return;
    }
    job->shared = scratch;
    job->workers = scratch + job->plan.shared_floats;
}

int headwise_attention_phases(const struct headwise_attention_job *job,
                              struct headwise_phase *phases) {
    const struct headwise_plan *plan = &job->plan;
    const struct headwise_call *call = plan->call;
    int64_t tiles = call->batch * headwise_count_tiles(plan);
    bool presents = call->present_key.data || call->present_value.data;
    void *arg = (void *)(uintptr_t)job;
    int n = 0;
    if (is_ragged(job))
        return headwise_ragged_phases(job, phases);
    if (presents)
        phases[n++] = (struct headwise_phase){call->batch * call->n_kv_heads, present_task, arg};
    if (plan->n_splits == 1) {
        phases[n++] = (struct headwise_phase){tiles, headwise_attend_task, arg};
        return n;
    }
    phases[n++] = (struct headwise_phase){tiles * plan->n_splits, headwise_split_task, arg};
    phases[n++] = (struct headwise_phase){tiles, headwise_join_task, arg};
    return n;
}

bool headwise_attention_is_tiny(const struct headwise_attention_job *job) {
    return is_ragged(job) ? headwise_ragged_is_tiny(job) : headwise_plan_is_tiny(&job->plan);
}

enum headwise_status headwise_attention_run(headwise_context *context,
                                            const struct headwise_call *call) {
    struct headwise_attention_job job;
    if (headwise_tensor_empty(&call->y) && !call->present_key.data && !call->present_value.data) {
        clear_mean(call);
        return HEADWISE_OK;
    }
    headwise_attention_plan(&job, call, context->kernels, context->n_threads);
    TRY(headwise_context_begin(context, job.scratch_bytes));
    headwise_attention_bind(&job, context->scratch);
    struct headwise_phase phases[HEADWISE_ATTENTION_PHASES];
    int n_phases = headwise_attention_phases(&job, phases);
    enum headwise_status status =
        headwise_parallel_run(context, phases, n_phases, headwise_attention_is_tiny(&job));
    headwise_context_end(context);
    return status;
}
