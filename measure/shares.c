#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "shares.h"

#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "context/context.h"

/* What the timed kernels of one thread have added up, on a cache line of its own. */
struct meter {
    _Alignas(64) uint64_t ticks[SHARE_GROUPS];
    uint64_t calls[SHARE_GROUPS];
    int64_t exponentials;
};

enum { MAX_METERS = 1024 };

static struct meter meters[MAX_METERS];
static atomic_int n_meters;
static _Thread_local struct meter *own;
static const struct headwise_kernels *plain; /* the tier's kernels, which the timed ones call */

const char *share_name(enum share_group group) {
    static const char *const names[SHARE_GROUPS] = {"projections", "scores", "softmax", "values",
                                                    "packing"};
    return names[group];
}

static struct meter *own_meter(void) {
    if (own == NULL)
        own = &meters[atomic_fetch_add(&n_meters, 1) % MAX_METERS];
    return own;
}

static void note(enum share_group group, uint64_t begin) {
    struct meter *meter = own_meter();
    meter->ticks[group] += ticks_now() - begin;
    meter->calls[group]++;
}

/* The products, for columns of one type each. */
#define TIMED_SCORES(scores_type)                                                                  \
    static void timed_##scores_type(float *restrict c, ptrdiff_t c_stride,                         \
                                    const float *restrict a, ptrdiff_t a_stride, int a_rows,       \
                                    const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n,    \
                                    ptrdiff_t k, float scale) {                                    \
        uint64_t begin = ticks_now();                                                              \
        plain->scores_type(c, c_stride, a, a_stride, a_rows, b, m, n, k, scale);                   \
        note(SHARE_SCORES, begin);                                                                 \
    }
#define TIMED_VALUES_AND_PROJECT(values_type, project_type)                                        \
    static void timed_##values_type(                                                               \
        float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,        \
        const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,                   \
        const float *restrict alpha, const float *restrict beta) {                                 \
        uint64_t begin = ticks_now();                                                              \
        plain->values_type(c, c_stride, a, a_stride, b, m, n, k, alpha, beta);                     \
        note(SHARE_VALUES, begin);                                                                 \
    }                                                                                              \
    static void timed_##project_type(float *restrict c, ptrdiff_t c_stride,                        \
                                     const float *restrict a, ptrdiff_t a_stride, int a_rows,      \
                                     const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n,   \
                                     ptrdiff_t k, bool resume, const float *restrict bias) {       \
        uint64_t begin = ticks_now();                                                              \
        plain->project_type(c, c_stride, a, a_stride, a_rows, b, m, n, k, resume, bias);           \
        note(SHARE_PROJECTIONS, begin);                                                            \
    }
TIMED_SCORES(scores)
TIMED_SCORES(scores_in_place)
TIMED_SCORES(scores_f16)
TIMED_SCORES(scores_bf16)
TIMED_SCORES(scores_i8)
TIMED_VALUES_AND_PROJECT(values, project)
TIMED_VALUES_AND_PROJECT(values_f16, project_f16)
TIMED_VALUES_AND_PROJECT(values_bf16, project_bf16)
TIMED_VALUES_AND_PROJECT(values_i8, project_i8)

static void timed_pack_rows(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                            ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain->pack_rows(a, a_stride, src, src_stride, m, k);
    note(SHARE_PACKING, begin);
}

static void timed_pack_transposed(float *restrict panel, int n, const float *restrict src,
                                  ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain->pack_transposed(panel, n, src, src_stride, n_rows, k);
    note(SHARE_PACKING, begin);
}

static bool timed_pack_columns(float *restrict panel, int n, const float *restrict src,
                               ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    bool finite = plain->pack_columns(panel, n, src, src_stride, n_columns, k);
    note(SHARE_PACKING, begin);
    return finite;
}

static void timed_softmax(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                          float *restrict max, float *restrict sum) {
    uint64_t begin = ticks_now();
    plain->softmax(s, s_stride, m, n, max, sum);
    note(SHARE_SOFTMAX, begin);
    own_meter()->exponentials += m * n;
}

static void timed_merge(float *restrict alpha, float *restrict beta, float *restrict max,
                        float *restrict sum, const float *restrict block_max,
                        const float *restrict block_sum, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain->merge(alpha, beta, max, sum, block_max, block_sum, n);
    note(SHARE_SOFTMAX, begin);
}

static void timed_finish(float *restrict inverse, float *restrict lse, const float *restrict max,
                         const float *restrict sum, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain->finish(inverse, lse, max, sum, n);
    note(SHARE_SOFTMAX, begin);
}

static void timed_widen_f16(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain->widen_f16(dst, src, n);
    note(SHARE_PACKING, begin);
}

static void timed_widen_bf16(float *restrict dst, const uint16_t *restrict src, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain->widen_bf16(dst, src, n);
    note(SHARE_PACKING, begin);
}

static struct headwise_kernels timed_table(const struct headwise_kernels *kernels) {
    struct headwise_kernels timed = *kernels;
    timed.scores = timed_scores;
    timed.values = timed_values;
    timed.project = timed_project;
    timed.scores_in_place = timed_scores_in_place;
    timed.scores_f16 = timed_scores_f16;
    timed.scores_bf16 = timed_scores_bf16;
    timed.scores_i8 = timed_scores_i8;
    timed.values_f16 = timed_values_f16;
    timed.values_bf16 = timed_values_bf16;
    timed.values_i8 = timed_values_i8;
    timed.project_f16 = timed_project_f16;
    timed.project_bf16 = timed_project_bf16;
    timed.project_i8 = timed_project_i8;
    timed.pack_rows = timed_pack_rows;
    timed.pack_transposed = timed_pack_transposed;
    timed.pack_columns = timed_pack_columns;
    timed.softmax = timed_softmax;
    timed.merge = timed_merge;
    timed.finish = timed_finish;
    timed.widen_f16 = timed_widen_f16;
    timed.widen_bf16 = timed_widen_bf16;
    return timed;
}

/* What one timed kernel adds: ticks that it counts as the kernel's, and ticks around the call. */
struct cost {
    double inside, outside;
};

static void merge_nothing(float *restrict alpha, float *restrict beta, float *restrict max,
                          float *restrict sum, const float *restrict block_max,
                          const float *restrict block_sum, ptrdiff_t n) {
    (void)alpha, (void)beta, (void)max, (void)sum, (void)block_max, (void)block_sum, (void)n;
}

static struct cost measure_cost(void) {
    static const struct headwise_kernels nothing = {.merge = merge_nothing};
    enum { CALLS = 1000, ROUNDS = 20 };
    headwise_merge_fn *volatile timed = timed_merge;
    struct cost cost = {1e9, 1e9};
    plain = &nothing;
    for (int round = 0; round < ROUNDS; round++) {
        struct meter *meter = own_meter();
        uint64_t counted = meter->ticks[SHARE_SOFTMAX], begin = ticks_now();
        for (int i = 0; i < CALLS; i++)
            timed(NULL, NULL, NULL, NULL, NULL, NULL, 0);
        double outside = (double)(ticks_now() - begin) / CALLS;
        double inside = (double)(meter->ticks[SHARE_SOFTMAX] - counted) / CALLS;
        if (outside < cost.outside)
            cost = (struct cost){inside, outside};
    }
    return cost;
}

/* The shares of a timed call that took elapsed ticks, what the timing itself cost taken off. */
static struct shares add_up(struct cost cost, uint64_t elapsed, int n_threads) {
    struct shares shares = {.rest = 1.0};
    double total = (double)elapsed * n_threads, ticks[SHARE_GROUPS] = {0};
    int n = atomic_load(&n_meters);
    for (int i = 0; i < MAX_METERS && i < n; i++) {
        shares.exponentials += meters[i].exponentials;
        for (int g = 0; g < SHARE_GROUPS; g++) {
            ticks[g] += (double)meters[i].ticks[g] - (double)meters[i].calls[g] * cost.inside;
            total -= (double)meters[i].calls[g] * cost.outside;
        }
    }
    for (int g = 0; g < SHARE_GROUPS; g++) {
        shares.share[g] = ticks[g] > 0 ? ticks[g] / total : 0;
        shares.rest -= shares.share[g];
    }
    return shares;
}

enum headwise_status shares_measure(struct shares *shares, headwise_context *context,
                                    shares_run_fn *run, void *arg) {
    enum { MIN_CALLS = 3, MAX_CALLS = 200 };
    const double budget_s = 0.05;
    struct cost cost = measure_cost();
    const struct headwise_kernels *kernels = context->kernels;
    struct headwise_kernels timed = timed_table(kernels);
    enum headwise_status status = HEADWISE_OK;
    double first_s = seconds_now();
    plain = kernels;
    context->kernels = &timed;
    for (int i = 0; i < MAX_CALLS && status == HEADWISE_OK; i++) {
        memset(meters, 0, sizeof meters);
        double begin_s = seconds_now();
        uint64_t begin = ticks_now();
        status = run(arg);
        uint64_t elapsed = ticks_now() - begin;
        double end_s = seconds_now();
        if (i == 0 || end_s - begin_s < shares->timed_s) {
            *shares = add_up(cost, elapsed, headwise_context_threads(context));
            shares->timed_s = end_s - begin_s;
        }
        if (i + 1 >= MIN_CALLS && end_s - first_s > budget_s)
            break;
    }
    context->kernels = kernels;
    return status;
}
