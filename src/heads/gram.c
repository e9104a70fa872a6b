/* Sums inner products of the contributions of heads, and reads norms and shares off them. */
#include "heads/gram.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "context/parallel.h"
#include "heads/float64.h"
#include "headwise/heads.h"
#include "kernels/panel.h"

/* Contributions of all heads to some rows, at most 4 MB of them and 64 rows. The number of threads
 * plays no part: blocks are an order of summation. */
enum { BLOCK_FLOATS = 1024 * 1024, MOST_ROWS = 64 };

struct gram_job {
    const headwise_mha *mha;
    const struct headwise_kernels *kernels;
    const float *heads; /* [H][queries][Dv] from the block's first row on */
    int64_t queries, rows;
    int64_t stride;       /* floats per row of contributions: d_out in whole panels */
    float *contributions; /* [H][rows][stride] */
    double *gram;
};

static void contribute_task(void *arg, int64_t h, int worker) {
    const struct gram_job *job = arg;
    const headwise_mha *mha = job->mha;
    const struct headwise_matrix *o = &mha->o;
    float *out = job->contributions + h * job->rows * job->stride;
    const struct headwise_matrix_input input = {job->heads + h * job->queries * mha->value_dim,
                                                mha->value_dim, 1, job->rows};
    (void)worker;
    for (int64_t c = 0, n; c < o->n; c += n) {
        n = headwise_whole_panels(job->kernels, o->n, c);
        const struct headwise_matrix_slice slice = {.matrix = o,
                                                    .c = c,
                                                    .n = n,
                                                    .t = h * mha->value_dim,
                                                    .k = mha->value_dim,
                                                    .ends = true};
        headwise_matrix_multiply(&slice, job->kernels, out + c, job->stride, &input, NULL);
    }
}

/* Head g with itself and those before it; long rows of the matrix first. Padding is 0. */
static void multiply_task(void *arg, int64_t index, int worker) {
    const struct gram_job *job = arg;
    int64_t n = job->rows * job->stride, g = job->mha->n_heads - 1 - index;
    (void)worker;
    for (int64_t h = 0; h <= g; h++)
        job->gram[g * job->mha->n_heads + h] +=
            headwise_dot_f64(job->contributions + g * n, job->contributions + h * n, n);
}

enum headwise_status headwise_gram_sum(headwise_context *context, const headwise_mha *mha,
                                       double *gram, const float *head_outputs, int64_t batch,
                                       int64_t queries) {
    int64_t n_heads = mha->n_heads;
    struct gram_job job = {.mha = mha, .kernels = context->kernels, .queries = queries};
    job.gram = gram;
    job.stride = headwise_matrix_padded(job.kernels, mha->o.n);
    int64_t most = BLOCK_FLOATS / headwise_max(n_heads * job.stride, 1);
    int64_t rows = headwise_max(1, headwise_min(headwise_min(most, MOST_ROWS), queries));
    size_t bytes = headwise_bytes(n_heads * rows * job.stride, sizeof(float));
    if (n_heads == 0)
        return HEADWISE_OK;
    job.contributions = headwise_alloc(&context->allocator, bytes);
    if (!job.contributions)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "contribution_gram: out of memory");
    memset(gram, 0, (size_t)(n_heads * n_heads) * sizeof(double));
    struct headwise_phase phases[] = {{n_heads, contribute_task, &job},
                                      {n_heads, multiply_task, &job}};
    enum headwise_status status = HEADWISE_OK;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t first = 0; first < queries && status == HEADWISE_OK; first += rows) {
            job.heads = head_outputs + (b * n_heads * queries + first) * mha->value_dim;
            job.rows = headwise_min(rows, queries - first);
            status = headwise_parallel_run(context, phases, 2, false);
        }
    for (int64_t g = 0; g < n_heads; g++)
        for (int64_t h = 0; h < g; h++)
            gram[h * n_heads + g] = gram[g * n_heads + h];
    headwise_release(&context->allocator, job.contributions, bytes);
    return status;
}

void headwise_gram_norms(double *norms, const double *gram, int64_t n_heads) {
    HEADWISE_FLOAT_SCOPE();
    for (int64_t h = 0; h < n_heads; h++)
        norms[h] = sqrt(gram[h * n_heads + h]);
}

void headwise_gram_shares(double *shares, const double *gram, int64_t n_heads) {
    HEADWISE_FLOAT_SCOPE();
    double total = 0;
    for (int64_t g = 0; g < n_heads; g++) {
        shares[g] = 0;
        for (int64_t h = 0; h < n_heads; h++)
            shares[g] += gram[g * n_heads + h];
        total += shares[g];
    }
    for (int64_t g = 0; g < n_heads; g++)
        shares[g] = total == 0 ? 0 : shares[g] / total;
}

void headwise_gram_cosines(double *cosines, const double *gram, int64_t n_heads) {
    HEADWISE_FLOAT_SCOPE();
    /* The diagonal last: cosines may be gram. */
    for (int64_t g = 0; g < n_heads; g++)
        for (int64_t h = 0; h < n_heads; h++) {
            double norms = sqrt(gram[g * n_heads + g]) * sqrt(gram[h * n_heads + h]);
            if (g != h)
                cosines[g * n_heads + h] = norms == 0 ? 0 : gram[g * n_heads + h] / norms;
        }
    for (int64_t g = 0; g < n_heads; g++)
        cosines[g * n_heads + g] = gram[g * n_heads + g] == 0 ? 0 : 1;
}

double headwise_gram_change(const double *gram, int64_t n_heads, const int64_t *heads, int64_t n) {
    HEADWISE_FLOAT_SCOPE();
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            square += gram[heads[i] * n_heads + heads[j]];
    double change =
        square > 0 || isnan(square) ? sqrt(square) : 0; /* rounding may leave it below 0 */
    headwise_float_keep(&change);
    return change;
}
