/* MLPs: the bits of their parts, which are tested on their own: layers, activation, product with
 * the gate, residual and norms; for any widths, rows, threads and types of weights. */
#include <string.h>

#include "call.h"
#include "compare.h"
#include "dense.h"
#include "guard.h"
#include "rows.h"
#include "runner.h"

struct block {
    struct dense_matrix up, gate, down;
    bool gated;
    enum headwise_activation activation;
    headwise_mlp *mlp;
    headwise_linear *parts[3]; /* up, gate, down */
};

static struct block make_block(headwise_context *context, struct test_rng *rng, int kind, int64_t d,
                               int64_t hidden, int64_t out) {
    enum dense_kind type = (enum dense_kind)(kind % DENSE_KINDS);
    int round = kind / DENSE_KINDS % 2; /* each type in both layouts, with and without a gate */
    enum headwise_layout layout = (enum headwise_layout)((kind + round) % 2);
    struct block b = {.gated = kind % 2 == round,
                      .activation = (enum headwise_activation)(kind % 7)};
    b.up = dense_make(rng, type, layout, d, hidden);
    b.gate = dense_make(rng, type, layout, d, hidden);
    b.down = dense_make(rng, type, layout, hidden, out);
    struct headwise_mlp_config config =
        dense_mlp_config(&b.up, b.gated ? &b.gate : NULL, &b.down, b.activation);
    config.d_out = out == d ? 0 : out;
    if (headwise_mlp_create(&b.mlp, context, &config) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    b.parts[0] = dense_create(context, &b.up);
    b.parts[1] = dense_create(context, &b.gate);
    b.parts[2] = dense_create(context, &b.down);
    return b;
}

static void destroy_block(struct block *b) {
    headwise_mlp_destroy(b->mlp);
    for (int i = 0; i < 3; i++)
        headwise_linear_destroy(b->parts[i]);
}

static void run_part(headwise_context *context, const headwise_linear *linear, const float *x,
                     float *y, enum headwise_activation activation) {
    const struct headwise_linear_call call = {
        .size = sizeof call, .n_rows = 1, .x = x, .y = y, .activation = activation};
    dense_run(context, linear, &call);
}

/* Row r by parts. */
static void expect_parts(enum headwise_isa isa, headwise_context *context, const struct block *b,
                         const struct headwise_mlp_call *call, const float *x,
                         const float *residual, int64_t r) {
    size_t d = (size_t)b->up.k, hidden = (size_t)b->up.n, out = (size_t)b->down.n;
    float *n = guard_plain(d, 4), *h = guard_plain(hidden, 4), *u = guard_plain(hidden, 4);
    float *t = guard_plain(out, 4), *y = guard_plain(out, 4);
    memcpy(n, x + r * call->x_stride, d * sizeof(float));
    if (call->input_norm)
        rows_norm(isa, call->input_norm, n, x + r * call->x_stride, d);
    run_part(context, b->parts[b->gated ? 1 : 0], n, h, b->activation);
    if (b->gated)
        run_part(context, b->parts[0], n, u, HEADWISE_ACTIVATION_NONE);
    for (size_t j = 0; b->gated && j < hidden; j++)
        h[j] *= u[j];
    run_part(context, b->parts[2], h, t, HEADWISE_ACTIVATION_NONE);
    memcpy(y, t, out * sizeof(float));
    if (call->output_norm && call->norm_before_residual)
        rows_norm(isa, call->output_norm, y, t, out);
    for (size_t j = 0; residual && j < out; j++)
        y[j] += residual[r * call->residual_stride + (int64_t)j];
    if (call->sum)
        compare_same_bits(call->sum + r * call->sum_stride, y, out, "sum, row %d", (int)r);
    memcpy(t, y, out * sizeof(float));
    if (call->output_norm && !call->norm_before_residual)
        rows_norm(isa, call->output_norm, y, t, out);
    compare_same_bits(call->y + r * call->y_stride, y, out, "y, row %d of %d", (int)r,
                      (int)call->n_rows);
}

static void run_mlp(headwise_context *context, const headwise_mlp *mlp,
                    const struct headwise_mlp_call *call) {
    if (headwise_mlp_forward(context, mlp, call) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
}

/* Kinds go through types, gates, activations, norms, residuals, strides and places. */
static void expect_kind(enum headwise_isa isa, headwise_context *context, headwise_context *alone,
                        struct test_rng *rng, int kind, int64_t m, const int64_t widths[3]) {
    int64_t d = widths[0], hidden = widths[1], out = widths[2];
    struct block b = make_block(context, rng, kind, d, hidden, out);
    struct headwise_row_norm input_norm = rows_random_norm(rng, kind % 8, (size_t)d);
    struct headwise_row_norm output_norm = rows_random_norm(rng, (kind + 5) % 8, (size_t)out);
    int64_t gap = kind % 4;
    float *x = dense_rows(rng, m, d, gap), *residual = dense_rows(rng, m, out, gap);
    struct headwise_mlp_call call = {
        .size = sizeof call,
        .n_rows = m,
        .x = x,
        .x_stride = d + gap,
        .y = dense_no_rows(m, out, gap),
        .y_stride = out + gap,
        .input_norm = kind % 4 < 2 ? &input_norm : NULL,
        .residual = kind % 5 != 1 ? residual : NULL,
        .residual_stride = out + gap,
        .output_norm = kind % 3 != 1 ? &output_norm : NULL,
        .norm_before_residual = kind % 6 == 2,
        .sum = kind % 6 != 2 && kind % 5 < 2 ? dense_no_rows(m, out, gap) : NULL,
        .sum_stride = out + gap,
    };
    if (out == d && kind % 2)
        call.residual = x;
    size_t x_size = (size_t)((m - 1) * (d + gap) + d), size = (size_t)((m - 1) * (out + gap) + out);
    float *old_x = guard_plain(x_size, 4), *old_residual = guard_plain(size, 4);
    memcpy(old_x, x, x_size * sizeof(float));
    if (call.residual)
        memcpy(old_residual, call.residual, size * sizeof(float));
    if (out == d && kind % 7 < 3) /* in place of x */
        call.y = x;
    else if (call.residual && kind % 7 == 4)
        call.y = residual == call.residual ? residual : x;
    run_mlp(context, b.mlp, &call);
    for (int64_t r = 0; r<m; r += m> 60 ? 29 : 1)
        expect_parts(isa, alone, &b, &call, old_x, call.residual ? old_residual : NULL, r);
    destroy_block(&b);
    guard_reset();
}

static void parts_for_any_rows_and_threads(enum headwise_isa isa) {
    const int64_t rows[] = {1, 3, 12, 40, 100, 289, 450, 1000};
    const int64_t widths[][3] = {{1, 1, 1},     {3, 7, 5},     {16, 33, 16},  {48, 96, 48},
                                 {40, 130, 67}, {96, 270, 96}, {32, 2100, 32}};
    struct test_rng rng = test_rng_make(321);
    headwise_context *contexts[] = {call_context(isa, 1), call_context(isa, 2),
                                    call_context(isa, 3), call_context(isa, 5)};
    int64_t share = test_share();
    for (int kind = 0; kind < 112; kind += (int)share)
        expect_kind(isa, contexts[kind / 8 % 4], contexts[0], &rng, kind, rows[kind % 8],
                    widths[kind % 7]);
    for (int i = 0; i < 4; i++)
        headwise_context_destroy(contexts[i]);
}

/* A row's bits are its own: NaN and large numbers in all the others change none of them. */
static void neighbours_change_nothing(enum headwise_isa isa) {
    enum { D = 48, HIDDEN = 100, M = 60, AT = 37 };
    struct test_rng rng = test_rng_make(322);
    headwise_context *context = call_context(isa, 2);
    for (int kind = 0; kind < 2 * DENSE_KINDS; kind++) {
        struct block b = make_block(context, &rng, kind, D, HIDDEN, D);
        struct headwise_row_norm norm = rows_random_norm(&rng, 7, D);
        float *x = dense_rows(&rng, M, D, 0), y[2][M * D];
        struct headwise_mlp_call call = {.size = sizeof call,
                                         .n_rows = M,
                                         .x = x,
                                         .input_norm = kind % 2 ? &norm : NULL,
                                         .residual = x,
                                         .output_norm = kind % 2 ? NULL : &norm};
        for (int other = 0; other < 2; other++) {
            call.y = y[other];
            run_mlp(context, b.mlp, &call);
            for (int i = 0; i < M * D; i++)
                if (i / D != AT)
                    x[i] = i % 3 ? 1e30f : 0.0f / (float)(i % 3);
        }
        compare_same_bits(y[1] + AT * D, y[0] + AT * D, D, "kind %d", kind);
        destroy_block(&b);
    }
    headwise_context_destroy(context);
}

/* Scratch is that of blocks of rows: 40 times as many rows take no more. */
static void scratch_does_not_grow_with_rows(enum headwise_isa isa) {
    enum { D = 64, HIDDEN = 512, FEW = 600, MANY = 40 * FEW };
    struct test_rng rng = test_rng_make(323);
    headwise_context *context = call_context(isa, 2);
    struct block b = make_block(context, &rng, 0, D, HIDDEN, D);
    float *x = dense_rows(&rng, MANY, D, 0), *y = dense_no_rows(MANY, D, 0);
    struct headwise_mlp_call call = {
        .size = sizeof call, .n_rows = FEW, .x = x, .y = y, .residual = x};
    run_mlp(context, b.mlp, &call);
    size_t few = headwise_context_describe(context)->scratch_bytes;
    call.n_rows = MANY;
    run_mlp(context, b.mlp, &call);
    size_t many = headwise_context_describe(context)->scratch_bytes;
    assert_true(few > 0 && many <= few + few / 4);
    destroy_block(&b);
    headwise_context_destroy(context);
}

/* A call that is stopped says so, by rows and by columns, and the next one gives its bits. */
static void stops_and_goes_on(enum headwise_isa isa) {
    enum { D = 48, HIDDEN = 100, M = 700 };
    int flag = 0;
    const struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = 2, .cancel_flag = &flag};
    struct test_rng rng = test_rng_make(325);
    headwise_context *context = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    struct block b = make_block(context, &rng, 1, D, HIDDEN, D);
    float *x = dense_rows(&rng, M, D, 0), *y = dense_no_rows(M, D, 0), *z = dense_no_rows(M, D, 0);
    for (int64_t m = M; m > 1; m /= 20) {
        struct headwise_mlp_call call = {.size = sizeof call, .n_rows = m, .x = x, .y = y};
        run_mlp(context, b.mlp, &call);
        call.y = z;
        flag = 1;
        assert_int_equal(headwise_mlp_forward(context, b.mlp, &call), HEADWISE_ERR_CANCELLED);
        flag = 0;
        run_mlp(context, b.mlp, &call);
        compare_same_bits(z, y, (size_t)(m * D), "%d rows", (int)m);
    }
    destroy_block(&b);
    headwise_context_destroy(context);
}

static void describes(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct test_rng rng = test_rng_make(324);
    struct block b = make_block(context, &rng, 12, 24, 40, 24);
    const struct headwise_mlp_info *info = headwise_mlp_describe(b.mlp);
    assert_int_equal(info->size, sizeof *info);
    assert_int_equal(info->d_model, 24);
    assert_int_equal(info->d_hidden, 40);
    assert_int_equal(info->d_out, 24);
    assert_int_equal(info->activation, 12 % 7);
    assert_true(info->gated);
    assert_int_equal(info->packed_dtype, HEADWISE_F32);
    assert_false(info->dynamic_int8);
    assert_true(info->weight_bytes >= 3 * 24 * 40 * sizeof(float));
    destroy_block(&b);
    headwise_mlp_destroy(NULL);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(parts_for_any_rows_and_threads),
        TEST_CASE(neighbours_change_nothing),
        TEST_CASE(scratch_does_not_grow_with_rows),
        TEST_CASE(stops_and_goes_on),
        TEST_CASE(describes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
