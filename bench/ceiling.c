/* Measures what this machine can do at most: multiply-adds, and bytes read, on all threads. */
#include "ceiling.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "buffer.h"
#include "ceiling_tier.h"
#include "context/parallel.h"
#include "measure/clock.h"

enum { ROUNDS = 8, FMA_ROUNDS = 40000, FLOATS_PER_ROUND = 1024 * 1024 };

static const struct bench_ceiling_tier *const tiers[] = {
    [HEADWISE_ISA_SCALAR] = &bench_ceiling_scalar,
#ifdef HEADWISE_HAVE_AVX2
    [HEADWISE_ISA_AVX2] = &bench_ceiling_avx2,
#endif
#ifdef HEADWISE_HAVE_AVX512
    [HEADWISE_ISA_AVX512] = &bench_ceiling_avx512,
#endif
#ifdef HEADWISE_HAVE_NEON
    [HEADWISE_ISA_NEON] = &bench_ceiling_neon,
#endif
};

/* One round: every thread carries out one task. */
struct job {
    const struct bench_ceiling_tier *tier;
    const float *x;
    ptrdiff_t n; /* floats per task */
    int passes, streams;
};

/* Sums go here, so that no loop is without use. */
static volatile float sink;

static void fma_task(void *arg, int64_t index, int worker) {
    const struct job *job = arg;
    (void)index, (void)worker;
    sink = job->tier->multiply_add(FMA_ROUNDS);
}

static void read_task(void *arg, int64_t index, int worker) {
    const struct job *job = arg;
    (void)worker;
    for (int pass = 0; pass < job->passes; pass++)
        sink = job->tier->read(job->x + index * job->n, job->n, job->streams);
}

/* Seconds of the fastest round. */
static double fastest(headwise_context *context, headwise_task_fn *task, struct job *job) {
    struct headwise_phase phase = {headwise_context_describe(context)->n_threads, task, job};
    double best_s = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begin_s = seconds_now();
        headwise_parallel_run(context, &phase, 1, false);
        double s = seconds_now() - begin_s;
        if (round == 0 || s < best_s)
            best_s = s;
    }
    return best_s;
}

double bench_ceiling_fma(headwise_context *context) {
    enum { MOST_THREADS = 1024 };
    static double best[HEADWISE_ISA_NEON + 1][MOST_THREADS + 1];
    int n_threads = headwise_context_describe(context)->n_threads;
    struct job job = {.tier = tiers[headwise_context_describe(context)->isa]};
    double s = fastest(context, fma_task, &job);
    double rate = (double)job.tier->operations * FMA_ROUNDS * n_threads / s / 1e9;
    double *kept = &best[headwise_context_describe(context)->isa][n_threads];
    *kept = rate > *kept ? rate : *kept;
    return *kept;
}

/* One buffer for all sizes, as large as the largest so far. */
static float *buffer;
static int64_t buffer_floats;

static bool grow_buffer(int64_t floats) {
    if (floats <= buffer_floats)
        return true;
    bench_ceiling_release();
    buffer = bench_buffer(floats, HEADWISE_F32, 1.0f);
    buffer_floats = buffer != NULL ? floats : 0;
    return buffer != NULL;
}

double bench_ceiling_read(headwise_context *context, double size_bytes) {
    int n_threads = headwise_context_describe(context)->n_threads;
    int64_t floats = (int64_t)(size_bytes / sizeof(float));
    int64_t part = headwise_round_up(headwise_ceil_div(floats, n_threads), BENCH_READ_STEP);
    struct job job = {
        .tier = tiers[headwise_context_describe(context)->isa],
        .n = part,
        .passes = (int)headwise_ceil_div(FLOATS_PER_ROUND, part),
    };
    if (!grow_buffer(part * n_threads))
        return 0;
    job.x = buffer;
    double best = 0;
    for (job.streams = 1; job.streams <= BENCH_MAX_STREAMS; job.streams += BENCH_MAX_STREAMS - 1) {
        double s = fastest(context, read_task, &job);
        double rate = (double)(part * n_threads) * sizeof(float) * job.passes / s / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

void bench_ceiling_release(void) {
    free(buffer);
    buffer = NULL;
    buffer_floats = 0;
}
