/* Correlates the maps of heads, a block of queries at a time. */
#include "heads/correlation.h"

#include <math.h>
#include <string.h>

#include "attention/visibility.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/scratch.h"
#include "context/parallel.h"
#include "heads/float64.h"
#include "headwise/attention.h"

/* Floats of weights, and of scores, that a block of queries may take: 4 MB each. The number of
 * threads plays no part: blocks are an order of summation. */
enum { BLOCK_FLOATS = 1024 * 1024 };

/* Variance below this part of the mean square is rounding of the weights (u^2 is 4e-15). */
static const double constant_map = 1e-12;

static struct headwise_tensor no_values(int64_t batch, int64_t heads, int64_t rows) {
    static const float zero = 0.0f;
    return (struct headwise_tensor){
        (void *)(uintptr_t)&zero, HEADWISE_F32, {batch, heads, rows, 1}, {0, 0, 0, 1}};
}

void headwise_map_weights_alone(struct headwise_map_job *job) {
    struct headwise_attention_call *given = &job->given;
    job->v = no_values(job->k.size[0], job->k.size[1], job->k.size[2]);
    if (given->past_key) {
        job->past_value = no_values(job->k.size[0], job->k.size[1], given->past_key->size[2]);
        given->past_value = &job->past_value;
    }
    given->present_key = given->present_value = NULL;
    given->x = given->memory = NULL;
    given->head_gates = NULL;
    given->positions = NULL; /* q and k are turned already */
    given->probe = NULL;
}

static struct headwise_tensor rows_of(const struct headwise_tensor *t, int64_t first, int64_t n) {
    struct headwise_tensor part = *t;
    if (t->data)
        part.data = (char *)t->data + first * t->stride[2] * (int64_t)headwise_dtype_size(t->dtype);
    part.size[2] = n;
    return part;
}

/* Weights and masked scores of queries first ... first+n-1. */
static enum headwise_status run_block(struct headwise_map_job *job, int64_t first, int64_t n) {
    const struct headwise_call *call = &job->call;
    struct headwise_attention_call block = job->given;
    struct headwise_probe probe = {.size = sizeof probe,
                                   .weights = job->weights,
                                   .scores = job->scores,
                                   .score_stage = HEADWISE_SCORES_MASKED};
    struct headwise_tensor q = rows_of(&job->q, first, n), mask;
    struct headwise_tensor y =
        headwise_tensor_bhrc(job->y, HEADWISE_F32, call->batch, call->n_heads, n, 1);
    for (int64_t b = 0; b < call->batch; b++)
        job->query_offsets[b] = -headwise_distance(call, b, first, 0);
    block.y = &y;
    block.q = &q;
    block.k = &job->k;
    block.v = &job->v;
    block.query_offsets = job->query_offsets;
    block.probe = &probe;
    if (block.mask && block.mask->size[2] > 1) {
        mask = rows_of(block.mask, first, n);
        block.mask = &mask;
    }
    job->rows = n;
    return headwise_attention(job->context, &block);
}

/* Counts the entries of a row that any head sees, but for the query's own position, where the
 * weights become 0: it then adds to no sum. */
static int64_t count_row(struct headwise_map_job *job, int64_t b, int64_t row) {
    const struct headwise_call *call = &job->call;
    int64_t n = 0, own = job->query_offsets[b] + row;
    float *weights = job->weights + (b * call->n_heads * job->rows + row) * call->n_keys;
    const float *scores = job->scores + (weights - job->weights);
    int64_t head_stride = job->rows * call->n_keys;
    for (int64_t j = 0; j < call->n_keys; j++) {
        bool seen = false;
        for (int64_t h = 0; h < call->n_heads && !seen; h++)
            seen = !(scores[h * head_stride + j] == -INFINITY);
        n += seen && j != own;
    }
    for (int64_t h = 0; own >= 0 && own < call->n_keys && h < call->n_heads; h++)
        weights[h * head_stride + own] = 0.0f;
    return n;
}

/* The block's part of the sums of head g with itself and those before it; long rows first. */
static void sum_task(void *arg, int64_t index, int worker) {
    struct headwise_map_job *job = arg;
    const struct headwise_call *call = &job->call;
    int64_t n = job->rows * call->n_keys, g = call->n_heads - 1 - index;
    (void)worker;
    for (int64_t b = 0; b < call->batch; b++) {
        const float *weights = job->weights + b * call->n_heads * n;
        job->sums[g] += headwise_total_f64(weights + g * n, n);
        for (int64_t h = 0; h <= g; h++)
            job->products[g * call->n_heads + h] +=
                headwise_dot_f64(weights + g * n, weights + h * n, n);
    }
}

static enum headwise_status sum_blocks(struct headwise_map_job *job, int64_t block_rows) {
    const struct headwise_call *call = &job->call;
    for (int64_t first = 0; first < call->n_queries; first += block_rows) {
        int64_t n = headwise_min(block_rows, call->n_queries - first);
        enum headwise_status status = run_block(job, first, n);
        if (status != HEADWISE_OK)
            return status;
        for (int64_t b = 0; b < call->batch; b++)
            for (int64_t row = 0; row < n; row++)
                job->n_entries += count_row(job, b, row);
        struct headwise_phase phase = {call->n_heads, sum_task, job};
        status = headwise_parallel_run(job->context, &phase, 1, false);
        if (status != HEADWISE_OK)
            return status;
    }
    return HEADWISE_OK;
}

/* n times the covariance of g and h, g >= h. */
static double covariance(const struct headwise_map_job *job, int64_t g, int64_t h) {
    double n = (double)job->n_entries;
    double product = job->products[g * job->call.n_heads + h];
    double centred = n > 0 ? product - job->sums[g] / n * job->sums[h] : 0;
    return g == h && centred < constant_map * product ? 0 : centred;
}

static void write_correlation(const struct headwise_map_job *job, double *correlation) {
    HEADWISE_FLOAT_SCOPE();
    int64_t n_heads = job->call.n_heads;
    for (int64_t g = 0; g < n_heads; g++)
        for (int64_t h = 0; h <= g; h++) {
            double spread = sqrt(covariance(job, g, g)) * sqrt(covariance(job, h, h));
            double r = g == h && !isnan(spread) ? 1
                       : spread == 0            ? 0
                                                : covariance(job, g, h) / spread;
            correlation[g * n_heads + h] = correlation[h * n_heads + g] = r;
        }
}

enum headwise_status headwise_map_correlation_run(struct headwise_map_job *job,
                                                  double *correlation) {
    const struct headwise_call *call = &job->call;
    const struct headwise_allocator *allocator = &job->context->allocator;
    int64_t row_floats = headwise_max(call->batch * call->n_heads * call->n_keys, 1);
    int64_t block_rows = headwise_max(1, headwise_min(BLOCK_FLOATS / row_floats, call->n_queries));
    int64_t heads = call->n_heads, at_scores, at_y, at_offsets, at_products, total = 0;
    headwise_take(&total, block_rows, row_floats);
    at_scores = headwise_take(&total, block_rows, row_floats);
    at_y = headwise_take(&total, block_rows, call->batch * heads);
    at_offsets = headwise_take(&total, call->batch, 2);
    at_products = headwise_take(&total, heads + 1, 2 * heads);
    float *memory = NULL;
    int64_t bytes = headwise_float_bytes(total);
    if (bytes >= 0)
        memory = headwise_alloc(allocator, (size_t)bytes);
    if (!memory)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "map_correlation: out of memory");
    job->weights = memory;
    job->scores = memory + at_scores;
    job->y = memory + at_y;
    job->query_offsets = (int64_t *)(void *)(memory + at_offsets);
    job->products = (double *)(void *)(memory + at_products);
    job->sums = job->products + heads * heads;
    memset(job->products, 0, (size_t)((heads + 1) * heads) * sizeof(double));
    enum headwise_status status =
        call->batch > 0 && heads > 0 ? sum_blocks(job, block_rows) : HEADWISE_OK;
    if (status == HEADWISE_OK)
        write_correlation(job, correlation);
    headwise_release(allocator, memory, (size_t)bytes);
    return status;
}
