/* Linear layers: products close to float64, or exact where rows are rounded; then activation,
 * residual, sum and norm, operation by operation; one answer for any rows, threads and places. */
#include <math.h>
#include <string.h>

#include "activation.h"
#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "dense.h"
#include "guard.h"
#include "rounded.h"
#include "rows.h"
#include "runner.h"

enum { GAP = 3 };

/* Sizes around panels and slices of inputs. */
static const int64_t sizes[][2] = {{1, 1},    {5, 3},     {33, 17},  {64, 48},
                                   {257, 40}, {1030, 70}, {300, 131}};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static struct headwise_linear_call plain_call(int64_t m, const float *x, int64_t k, float *y,
                                              int64_t n) {
    return (struct headwise_linear_call){.size = sizeof(struct headwise_linear_call),
                                         .n_rows = m,
                                         .x = x,
                                         .x_stride = k + GAP,
                                         .y = y,
                                         .y_stride = n + GAP};
}

/* A chain of k fused multiply-adds, or of 2k roundings on scalar, then scale and bias. */
static void expect_product(const struct dense_matrix *w, const float *x, const float *y) {
    for (int64_t j = 0; j < w->n; j++) {
        double scale = w->scales ? (double)w->scales[j] : 1, bias = (double)w->bias[j];
        double sum = 0, magnitude = 0;
        for (int64_t t = 0; t < w->k; t++) {
            double product = (double)x[t] * dense_kept(w, t, j);
            sum += product;
            magnitude += fabs(product);
        }
        double bound = bound_gamma(2 * (double)w->k + 3) * (magnitude * scale + fabs(bias));
        compare_expect((double)y[j], sum * scale + bias, bound + BOUND_TINY, "k %d, y[%d]",
                       (int)w->k, (int)j);
    }
}

/* Rows that are rounded: integers, exactly. */
static void expect_rounded_product(enum headwise_isa isa, const struct dense_matrix *w,
                                   const float *x, const float *y) {
    const struct rounded_row row = rounded_make(isa, x, w->k);
    for (int64_t j = 0; j < w->n; j++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < w->k; t++)
            sum += rounded_integer(&row, x[t]) * (int64_t)dense_kept(w, t, j);
        float want = rounded_output(&row, sum, w->scales[j], w->bias[j]);
        compare_expect((double)y[j], (double)want, 0, "k %d, y[%d]", (int)w->k, (int)j);
    }
}

/* Groups: integers, exactly, and one float sum from the bias on. */
static void expect_grouped_product(enum headwise_isa isa, const struct dense_matrix *w,
                                   const float *x, const float *y) {
    for (int64_t j = 0; j < w->n; j++) {
        float want = w->bias[j];
        for (int64_t first = 0; first < w->k; first += DENSE_GROUP) {
            int64_t n = w->k - first < DENSE_GROUP ? w->k - first : DENSE_GROUP, sum = 0;
            const struct rounded_row row = rounded_make(isa, x + first, n);
            for (int64_t t = first; t < first + n; t++)
                sum += rounded_integer(&row, x[t]) * dense_group_integer(w, t, j);
            want = rounded_output(&row, sum, dense_group_scale(w, first, j), want);
        }
        compare_expect((double)y[j], (double)want, 0, "groups, k %d, y[%d]", (int)w->k, (int)j);
    }
}

static void products(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct test_rng rng = test_rng_make(311);
    for (int i = 0; i < N_SIZES; i++)
        for (int kind = 0; kind < DENSE_KINDS; kind++) {
            int64_t k = sizes[i][0], n = sizes[i][1], m = 1 + (i * 7 + kind * 5) % 30;
            struct dense_matrix w = dense_make(&rng, (enum dense_kind)kind,
                                               (enum headwise_layout)((i + kind) % 2), k, n);
            headwise_linear *linear = dense_create(context, &w);
            float *x = dense_rows(&rng, m, k, GAP), *y = dense_no_rows(m, n, GAP);
            struct headwise_linear_call call = plain_call(m, x, k, y, n);
            dense_run(context, linear, &call);
            for (int64_t r = 0; r < m; r++) {
                if (kind == DENSE_DYNAMIC)
                    expect_rounded_product(isa, &w, x + r * (k + GAP), y + r * (n + GAP));
                else if (kind == DENSE_GROUPS)
                    expect_grouped_product(isa, &w, x + r * (k + GAP), y + r * (n + GAP));
                else
                    expect_product(&w, x + r * (k + GAP), y + r * (n + GAP));
                if (r + 1 < m)
                    guard_expect_untouched(y + r * (n + GAP) + n, GAP * 4, "between rows");
            }
            headwise_linear_destroy(linear);
            guard_reset();
        }
    headwise_context_destroy(context);
}

static void activations(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct test_rng rng = test_rng_make(312);
    enum { K = 40, N = 37, M = 9 };
    struct dense_matrix w = dense_make(&rng, DENSE_F32, HEADWISE_OUT_IN, K, N);
    headwise_linear *linear = dense_create(context, &w);
    float *x = dense_rows(&rng, M, K, GAP), *plain = dense_no_rows(M, N, GAP);
    float *y = dense_no_rows(M, N, GAP);
    for (int64_t at = 0; at < M * (K + GAP) - GAP; at++)
        x[at] *= 8;
    struct headwise_linear_call call = plain_call(M, x, K, plain, N);
    dense_run(context, linear, &call);
    call.y = y;
    for (int a = 0; a <= HEADWISE_ACTIVATION_TANH; a++) {
        call.activation = (enum headwise_activation)a;
        dense_run(context, linear, &call);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float before = plain[i * (N + GAP) + j];
                compare_expect((double)y[i * (N + GAP) + j],
                               activation_exact(call.activation, (double)before),
                               activation_bound(call.activation, before), "%s of %a",
                               activation_name(call.activation), (double)before);
            }
    }
    headwise_linear_destroy(linear);
    headwise_context_destroy(context);
}

/* A call with everything, as operations of its parts. */
struct whole {
    struct headwise_linear_call call;
    struct headwise_row_norm input_norm, output_norm;
    int64_t k, n;
};

static struct whole make_whole(struct test_rng *rng, int64_t m, int64_t k, int64_t n, int kind) {
    struct whole w = {.k = k, .n = n};
    w.call = plain_call(m, dense_rows(rng, m, k, GAP), k, dense_no_rows(m, n, GAP), n);
    w.input_norm = rows_random_norm(rng, kind % 8, (size_t)k);
    w.output_norm = rows_random_norm(rng, (kind + 3) % 8, (size_t)n);
    w.call.activation = (enum headwise_activation)(kind % 7);
    w.call.residual = kind % 4 != 1 ? dense_rows(rng, m, n, GAP) : NULL;
    w.call.residual_stride = n + GAP;
    w.call.norm_before_residual = kind % 3 == 2;
    w.call.sum = kind % 3 != 2 && kind % 2 ? dense_no_rows(m, n, GAP) : NULL;
    w.call.sum_stride = n + GAP;
    return w;
}

/* The norms of a whole, once it lies where it stays. */
static void point_norms(struct whole *w, int kind) {
    w->call.input_norm = kind % 5 < 3 ? &w->input_norm : NULL;
    w->call.output_norm = kind % 5 != 1 ? &w->output_norm : NULL;
}

/* Row r by parts: the layer on the normalized row, then what follows in order. */
static void expect_parts(enum headwise_isa isa, headwise_context *context,
                         const headwise_linear *linear, const struct whole *w, int64_t r) {
    const struct headwise_linear_call *call = &w->call;
    size_t k = (size_t)w->k, n = (size_t)w->n;
    float *x = guard_plain(k, 4), *t = guard_plain(n, 4), *z = guard_plain(n, 4);
    memcpy(x, call->x + r * call->x_stride, k * sizeof(float));
    if (call->input_norm)
        rows_norm(isa, call->input_norm, x, call->x + r * call->x_stride, k);
    struct headwise_linear_call part = plain_call(1, x, w->k, t, w->n);
    part.activation = call->activation;
    dense_run(context, linear, &part);
    if (call->output_norm && call->norm_before_residual) {
        memcpy(z, t, n * sizeof(float));
        rows_norm(isa, call->output_norm, t, z, n);
    }
    for (size_t j = 0; call->residual && j < n; j++)
        t[j] += call->residual[r * call->residual_stride + (int64_t)j];
    if (call->sum)
        compare_same_bits(call->sum + r * call->sum_stride, t, n, "sum, row %d", (int)r);
    memcpy(z, t, n * sizeof(float));
    if (call->output_norm && !call->norm_before_residual)
        rows_norm(isa, call->output_norm, z, t, n);
    compare_same_bits(call->y + r * call->y_stride, z, n, "y, row %d of %d", (int)r,
                      (int)call->n_rows);
}

static void parts_for_any_rows_and_threads(enum headwise_isa isa) {
    const int64_t rows[] = {1, 2, 5, 13, 48, 100, 290, 700};
    struct test_rng rng = test_rng_make(313);
    headwise_context *contexts[] = {call_context(isa, 1), call_context(isa, 2),
                                    call_context(isa, 3)};
    for (int kind = 0; kind < 40; kind++) {
        int64_t m = rows[kind % 8], k = sizes[kind % N_SIZES][0], n = sizes[kind % N_SIZES][1];
        if (m > 100) /* enough work for threads */
            k = 130, n = 96 + kind % 3;
        struct dense_matrix matrix =
            dense_make(&rng, (enum dense_kind)(kind % DENSE_KINDS), HEADWISE_OUT_IN, k, n);
        headwise_context *context = contexts[kind % 3];
        headwise_linear *linear = dense_create(context, &matrix);
        struct whole w = make_whole(&rng, m, k, n, kind);
        point_norms(&w, kind);
        dense_run(context, linear, &w.call);
        for (int64_t r = 0; r<m; r += m> 100 ? 17 : 1)
            expect_parts(isa, contexts[0], linear, &w, r);
        headwise_linear_destroy(linear);
        guard_reset();
    }
    for (int i = 0; i < 3; i++)
        headwise_context_destroy(contexts[i]);
}

/* y or sum in place of x or residual, for few rows and many, on one thread and on two. */
static void in_place(enum headwise_isa isa) {
    enum { K = 96 };
    struct test_rng rng = test_rng_make(314);
    for (int way = 0; way < 5 * 4 * 2; way++) {
        int64_t m = way % 4 == 0 ? 3 : way % 4 == 1 ? 70 : way % 4 == 2 ? 200 : 650;
        headwise_context *context = call_context(isa, 1 + way / 4 % 2);
        struct dense_matrix matrix = dense_make(&rng, DENSE_F32, HEADWISE_OUT_IN, K, K);
        headwise_linear *linear = dense_create(context, &matrix);
        struct whole w = make_whole(&rng, m, K, K, way % 2 ? 6 : 12);
        w.call.norm_before_residual = false;
        point_norms(&w, way % 3);
        size_t size = (size_t)((m - 1) * (K + GAP) + K) * sizeof(float);
        float *x = dense_no_rows(m, K, GAP), *residual = dense_no_rows(m, K, GAP);
        memcpy(x, w.call.x, size);
        memcpy(residual, w.call.residual, size);
        w.call.sum = dense_no_rows(m, K, GAP);
        dense_run(context, linear, &w.call);
        struct headwise_linear_call call = w.call;
        int where = way / 8;
        call.x = x;
        call.residual = residual;
        call.y = where == 0 || where == 3   ? x
                 : where == 1 || where == 4 ? residual
                                            : dense_no_rows(m, K, GAP);
        call.sum = where == 2 || where == 4 ? x : where == 3 ? residual : NULL;
        dense_run(context, linear, &call);
        for (int64_t r = 0; r < m; r++) {
            compare_same_bits(call.y + r * (K + GAP), w.call.y + r * (K + GAP), K,
                              "way %d, y, row %d", way, (int)r);
            if (call.sum)
                compare_same_bits(call.sum + r * (K + GAP), w.call.sum + r * (K + GAP), K,
                                  "way %d, sum, row %d", way, (int)r);
        }
        headwise_linear_destroy(linear);
        headwise_context_destroy(context);
        guard_reset();
    }
}

static void describes(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct test_rng rng = test_rng_make(315);
    struct dense_matrix w = dense_make(&rng, DENSE_DYNAMIC, HEADWISE_IN_OUT, 50, 32);
    headwise_linear *linear = dense_create(context, &w);
    const struct headwise_linear_info *info = headwise_linear_describe(linear);
    assert_int_equal(info->size, sizeof *info);
    assert_int_equal(info->n_inputs, 50);
    assert_int_equal(info->n_outputs, 32);
    assert_int_equal(info->packed_dtype, HEADWISE_I8);
    assert_true(info->dynamic_int8);
    assert_int_equal(info->dynamic_group, 0);
    assert_true(info->weight_bytes >= 50 * 32 + 32 * 4);
    headwise_linear_destroy(linear);
    w = dense_make(&rng, DENSE_GROUPS, HEADWISE_IN_OUT, 150, 32);
    linear = dense_create(context, &w);
    assert_int_equal(headwise_linear_describe(linear)->dynamic_group, DENSE_GROUP);
    assert_true(headwise_linear_describe(linear)->weight_bytes >= 150 * 32 + 3 * 32 * 4);
    headwise_linear_destroy(linear);
    headwise_linear_destroy(NULL);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(products), TEST_CASE(activations), TEST_CASE(parts_for_any_rows_and_threads),
        TEST_CASE(in_place), TEST_CASE(describes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
