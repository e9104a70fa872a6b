/* Kernels that take the time around each call, and what they cost themselves. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "measure/timed.h"

#include <stdatomic.h>
#include <string.h>

#include "measure/clock.h"

enum { MAX_METERS = 1024 };

static struct timed_meter meters[MAX_METERS];
static atomic_int n_meters;
static _Thread_local struct timed_meter *own;
static struct headwise_timing plain; /* the tier's kernels, which the timed ones call */

static struct timed_meter *own_meter(void) {
    if (own == NULL)
        own = &meters[atomic_fetch_add(&n_meters, 1) % MAX_METERS];
    return own;
}

static void note(enum share_group group, uint64_t begin) {
    struct timed_meter *meter = own_meter();
    meter->ticks[group] += ticks_now() - begin;
    meter->calls[group]++;
}

/* Each product, for columns of one type. */
#define TIMED_SCORES(name, kernel)                                                                 \
    static void timed_##name(float *restrict c, ptrdiff_t c_stride, const float *restrict a,       \
                             ptrdiff_t a_stride, int a_rows, const struct headwise_columns *b,     \
                             ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float scale) {                 \
        uint64_t begin = ticks_now();                                                              \
        plain.kernels->kernel(c, c_stride, a, a_stride, a_rows, b, m, n, k, scale);                \
        note(SHARE_SCORES, begin);                                                                 \
    }
#define TIMED_VALUES_AND_PROJECT(suffix, type)                                                     \
    static void timed_values_##suffix(                                                             \
        float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,        \
        const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,                   \
        const float *restrict alpha, const float *restrict beta) {                                 \
        uint64_t begin = ticks_now();                                                              \
        plain.kernels->values[type](c, c_stride, a, a_stride, b, m, n, k, alpha, beta);            \
        note(SHARE_VALUES, begin);                                                                 \
    }                                                                                              \
    static void timed_project_##suffix(float *restrict c, ptrdiff_t c_stride,                      \
                                       const float *restrict a, ptrdiff_t a_stride, int a_rows,    \
                                       const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, \
                                       ptrdiff_t k, bool resume, const float *restrict bias) {     \
        uint64_t begin = ticks_now();                                                              \
        plain.kernels->project[type](c, c_stride, a, a_stride, a_rows, b, m, n, k, resume, bias);  \
        note(SHARE_PROJECTIONS, begin);                                                            \
    }
TIMED_SCORES(scores_f32, scores[HEADWISE_F32])
TIMED_SCORES(scores_f16, scores[HEADWISE_F16])
TIMED_SCORES(scores_bf16, scores[HEADWISE_BF16])
TIMED_SCORES(scores_i8, scores[HEADWISE_I8])
TIMED_SCORES(scores_in_place, scores_in_place)
TIMED_VALUES_AND_PROJECT(f32, HEADWISE_F32)
TIMED_VALUES_AND_PROJECT(f16, HEADWISE_F16)
TIMED_VALUES_AND_PROJECT(bf16, HEADWISE_BF16)
TIMED_VALUES_AND_PROJECT(i8, HEADWISE_I8)

static void timed_pack_rows(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                            ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain.kernels->pack_rows(a, a_stride, src, src_stride, m, k);
    note(SHARE_PACKING, begin);
}

static void timed_pack_transposed(float *restrict panel, int n, const float *restrict src,
                                  ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain.kernels->pack_transposed(panel, n, src, src_stride, n_rows, k);
    note(SHARE_PACKING, begin);
}

static bool timed_pack_columns(float *restrict panel, int n, const float *restrict src,
                               ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    bool finite = plain.kernels->pack_columns(panel, n, src, src_stride, n_columns, k);
    note(SHARE_PACKING, begin);
    return finite;
}

static void timed_softmax(float *restrict s, ptrdiff_t s_stride, ptrdiff_t m, ptrdiff_t n,
                          float *restrict max, float *restrict sum) {
    uint64_t begin = ticks_now();
    plain.kernels->softmax(s, s_stride, m, n, max, sum);
    note(SHARE_SOFTMAX, begin);
    own_meter()->exponentials += m * n;
}

static void timed_merge(float *restrict alpha, float *restrict beta, float *restrict max,
                        float *restrict sum, const float *restrict block_max,
                        const float *restrict block_sum, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->merge(alpha, beta, max, sum, block_max, block_sum, n);
    note(SHARE_SOFTMAX, begin);
}

static void timed_finish(float *restrict inverse, float *restrict lse, const float *restrict max,
                         const float *restrict sum, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->finish(inverse, lse, max, sum, n);
    note(SHARE_SOFTMAX, begin);
}

static void timed_widen_f16(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->widen[HEADWISE_F16](dst, src, n);
    note(SHARE_PACKING, begin);
}

static void timed_widen_bf16(float *restrict dst, const void *restrict src, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->widen[HEADWISE_BF16](dst, src, n);
    note(SHARE_PACKING, begin);
}

static void timed_widen_keys_i8(float *restrict dst, const int8_t *restrict src,
                                const float *restrict scales, int n, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain.kernels->widen_keys_i8(dst, src, scales, n, k);
    note(SHARE_PACKING, begin);
}

static void timed_widen_values_i8(float *restrict dst, const int8_t *restrict src,
                                  const float *restrict scales, int n, ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain.kernels->widen_values_i8(dst, src, scales, n, k);
    note(SHARE_PACKING, begin);
}

/* A layer that rounds its inputs (dynamic_int8): how rows are rounded, their bytes, and the
 * products of bytes. */
static void timed_measure_rows(struct headwise_rounding *restrict roundings,
                               const float *restrict x, ptrdiff_t x_stride, ptrdiff_t m,
                               ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->measure_rows(roundings, x, x_stride, m, n);
    note(SHARE_PACKING, begin);
}

static void timed_round_rows(uint8_t *restrict bytes, ptrdiff_t bytes_stride,
                             const float *restrict x, ptrdiff_t x_stride,
                             const struct headwise_rounding *restrict roundings, ptrdiff_t m,
                             ptrdiff_t k) {
    uint64_t begin = ticks_now();
    plain.kernels->round_rows(bytes, bytes_stride, x, x_stride, roundings, m, k);
    note(SHARE_PACKING, begin);
}

static void timed_multiply_bytes(float *restrict y, ptrdiff_t y_stride,
                                 const struct headwise_dot_rows *rows,
                                 const struct headwise_dot_columns *columns, bool resume) {
    uint64_t begin = ticks_now();
    plain.dot->multiply(y, y_stride, rows, columns, resume);
    note(SHARE_PROJECTIONS, begin);
}

/* What becomes of rows: norms, sums with a residual, activations. */
#define TIMED_NORM(name)                                                                           \
    static void timed_##name(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,     \
                             const float *restrict weight, const float *restrict bias,             \
                             ptrdiff_t m, ptrdiff_t n, float eps) {                                \
        uint64_t begin = ticks_now();                                                              \
        plain.kernels->name(y, y_stride, x, x_stride, weight, bias, m, n, eps);                    \
        note(SHARE_ROWS, begin);                                                                   \
    }
#define TIMED_ACTIVATION(name, activation)                                                         \
    static void timed_##name(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,     \
                             const float *factor, ptrdiff_t factor_stride, ptrdiff_t m,            \
                             ptrdiff_t n) {                                                        \
        uint64_t begin = ticks_now();                                                              \
        plain.kernels->activate[activation](y, y_stride, x, x_stride, factor, factor_stride, m,    \
                                            n);                                                    \
        note(SHARE_ROWS, begin);                                                                   \
    }
TIMED_NORM(norm_rms)
TIMED_NORM(norm_layer)
TIMED_ACTIVATION(none, HEADWISE_ACTIVATION_NONE)
TIMED_ACTIVATION(relu, HEADWISE_ACTIVATION_RELU)
TIMED_ACTIVATION(gelu, HEADWISE_ACTIVATION_GELU)
TIMED_ACTIVATION(gelu_tanh, HEADWISE_ACTIVATION_GELU_TANH)
TIMED_ACTIVATION(gelu_quick, HEADWISE_ACTIVATION_GELU_QUICK)
TIMED_ACTIVATION(silu, HEADWISE_ACTIVATION_SILU)
TIMED_ACTIVATION(tanh, HEADWISE_ACTIVATION_TANH)

static void timed_add(float *restrict s, const float *restrict x, ptrdiff_t n) {
    uint64_t begin = ticks_now();
    plain.kernels->add(s, x, n);
    note(SHARE_ROWS, begin);
}

static void replace_rows(struct headwise_kernels *timed) {
    timed->norm_rms = timed_norm_rms;
    timed->norm_layer = timed_norm_layer;
    timed->activate[HEADWISE_ACTIVATION_NONE] = timed_none;
    timed->activate[HEADWISE_ACTIVATION_RELU] = timed_relu;
    timed->activate[HEADWISE_ACTIVATION_GELU] = timed_gelu;
    timed->activate[HEADWISE_ACTIVATION_GELU_TANH] = timed_gelu_tanh;
    timed->activate[HEADWISE_ACTIVATION_GELU_QUICK] = timed_gelu_quick;
    timed->activate[HEADWISE_ACTIVATION_SILU] = timed_silu;
    timed->activate[HEADWISE_ACTIVATION_TANH] = timed_tanh;
    timed->add = timed_add;
}

static void replace_products(struct headwise_kernels *timed) {
    timed->scores[HEADWISE_F32] = timed_scores_f32;
    timed->scores[HEADWISE_F16] = timed_scores_f16;
    timed->scores[HEADWISE_BF16] = timed_scores_bf16;
    timed->scores[HEADWISE_I8] = timed_scores_i8;
    timed->values[HEADWISE_F32] = timed_values_f32;
    timed->values[HEADWISE_F16] = timed_values_f16;
    timed->values[HEADWISE_BF16] = timed_values_bf16;
    timed->values[HEADWISE_I8] = timed_values_i8;
    timed->project[HEADWISE_F32] = timed_project_f32;
    timed->project[HEADWISE_F16] = timed_project_f16;
    timed->project[HEADWISE_BF16] = timed_project_bf16;
    timed->project[HEADWISE_I8] = timed_project_i8;
    timed->scores_in_place = timed_scores_in_place;
}

void timed_tables_make(struct timed_tables *tables, struct headwise_timing timing) {
    struct headwise_kernels *timed = &tables->kernels;
    plain = timing;
    *timed = *timing.kernels;
    replace_products(timed);
    replace_rows(timed);
    timed->pack_rows = timed_pack_rows;
    timed->pack_transposed = timed_pack_transposed;
    timed->pack_columns = timed_pack_columns;
    timed->softmax = timed_softmax;
    timed->merge = timed_merge;
    timed->finish = timed_finish;
    timed->widen[HEADWISE_F16] = timed_widen_f16;
    timed->widen[HEADWISE_BF16] = timed_widen_bf16;
    timed->widen_keys_i8 = timed_widen_keys_i8;
    timed->widen_values_i8 = timed_widen_values_i8;
    timed->measure_rows = timed_measure_rows;
    timed->round_rows = timed_round_rows;
    tables->dot = *timing.dot;
    tables->dot.multiply = timed_multiply_bytes;
    tables->timing = (struct headwise_timing){timed, &tables->dot};
}

static void merge_nothing(float *restrict alpha, float *restrict beta, float *restrict max,
                          float *restrict sum, const float *restrict block_max,
                          const float *restrict block_sum, ptrdiff_t n) {
    (void)alpha, (void)beta, (void)max, (void)sum, (void)block_max, (void)block_sum, (void)n;
}

struct timed_cost timed_cost_measure(void) {
    static const struct headwise_kernels nothing = {.merge = merge_nothing};
    enum { CALLS = 1000, ROUNDS = 20 };
    headwise_merge_fn *volatile timed = timed_merge;
    struct timed_cost cost = {1e9, 1e9};
    struct headwise_timing before = plain;
    plain = (struct headwise_timing){&nothing, NULL};
    for (int round = 0; round < ROUNDS; round++) {
        struct timed_meter *meter = own_meter();
        uint64_t counted = meter->ticks[SHARE_SOFTMAX], begin = ticks_now();
        for (int i = 0; i < CALLS; i++)
            timed(NULL, NULL, NULL, NULL, NULL, NULL, 0);
        double outside = (double)(ticks_now() - begin) / CALLS;
        double inside = (double)(meter->ticks[SHARE_SOFTMAX] - counted) / CALLS;
        if (outside < cost.outside)
            cost = (struct timed_cost){inside, outside};
    }
    plain = before;
    return cost;
}

void timed_reset(void) {
    memset(meters, 0, sizeof meters);
}

const struct timed_meter *timed_meters(int *n) {
    int taken = atomic_load(&n_meters);
    *n = taken < MAX_METERS ? taken : MAX_METERS;
    return meters;
}
