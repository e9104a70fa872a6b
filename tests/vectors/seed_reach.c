/* What a head can reach of a target, and what it misses of two. The projections are those of
 * examples/articles/support/svd.h, in double precision. */
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "seed.h"
#include "svd.h"

enum { TOKENS = 12, DIM = 8, WIDTH = 64, TARGETS = 200, FITTED = 5 };

/* Columns that are off by a matrix of norm "change" span a space that is turned by an angle whose
 * sine is at most change / (least singular value - change) (Wedin 1972); the missed part, a
 * distance of a unit vector to it, changes by no more. */
static double turn_bound(const float *a, int64_t rows, int64_t columns, double change) {
    double *copy = guard_plain((size_t)(rows * columns), sizeof(double)), s[64];
    for (int64_t i = 0; i < rows * columns; i++)
        copy[i] = (double)a[i];
    svd(copy, s, NULL, rows, columns);
    assert_true(s[columns - 1] > 2 * change);
    return change / (s[columns - 1] - change) + 1e-12;
}

/* Written without fmax(), whose maximum over a loop gcc 12 for aarch64 cannot compile. */
static double larger(double a, double b) {
    return b > a ? b : a;
}

static double norm(const double *x, int64_t n) {
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return sqrt(square);
}

/* y = A V on the tier, A the softmax of a mask; the norm of what y may be off by. */
static float *attend(headwise_context *context, float *mask, float *values, float *weights,
                     struct oracle_result **exact, double *change) {
    float *zeros = guard_plain(TOKENS * DIM, sizeof(float)), *y = guard_floats(TOKENS * DIM);
    const struct headwise_probe probe = {.size = sizeof(probe), .weights = weights};
    struct headwise_tensor logits = headwise_tensor_bhrc(mask, HEADWISE_F32, 1, 1, TOKENS, TOKENS);
    struct headwise_tensor q = headwise_tensor_bhrc(zeros, HEADWISE_F32, 1, 1, TOKENS, DIM);
    struct headwise_tensor v = headwise_tensor_bhrc(values, HEADWISE_F32, 1, 1, TOKENS, DIM);
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, TOKENS, DIM);
    const struct headwise_attention_call call = {.size = sizeof(call),
                                                 .y = &out,
                                                 .q = &q,
                                                 .k = &q,
                                                 .v = &v,
                                                 .mask = &logits,
                                                 .probe = &probe};
    assert_int_equal(headwise_attention(context, &call), HEADWISE_OK);
    *exact = oracle_attention(&call);
    oracle_expect(*exact, &out, &probe);
    *change = norm((*exact)->y_bound, TOKENS * DIM);
    return y;
}

/* Maps that were fitted to a target, given to the library as logarithms. */
static void run_fitted(enum headwise_isa isa, const headwise_safetensors *file, float *values,
                       const float *targets) {
    const double *maps = vector_f64(file, "softmax_A", FITTED * TOKENS * TOKENS);
    const double *percent = vector_f64(file, "softmax_A_reach_percent", FITTED);
    headwise_context *context = seed_context(isa);
    for (int m = 0; m < FITTED; m++) {
        const double *map = maps + m * TOKENS * TOKENS;
        float *mask = guard_floats(TOKENS * TOKENS), *weights = guard_floats(TOKENS * TOKENS);
        double rounded = 0, change, largest = 0;
        struct oracle_result *exact;
        for (int i = 0; i < TOKENS * TOKENS; i++) {
            mask[i] = (float)log(map[i]);
            rounded = larger(rounded, bound_rounding(HEADWISE_F32, log(map[i])));
        }
        float *y = attend(context, mask, values, weights, &exact, &change);
        /* A weight is exp(logit) over a sum of such: both off by at most the logits' rounding. */
        for (int i = 0; i < TOKENS * TOKENS; i++)
            compare_expect((double)weights[i], map[i],
                           exact->weights_bound[i] + 2.1 * rounded * map[i], "map %d, weight %d", m,
                           i);
        for (int i = 0; i < TOKENS * DIM; i++)
            largest = larger(largest, fabs((double)values[i]));
        change += 2.1 * rounded * largest * sqrt(TOKENS * DIM);
        compare_expect(100 * (1 - missed_part(y, targets + m * TOKENS * WIDTH, TOKENS, DIM, WIDTH)),
                       percent[m], 100 * turn_bound(y, TOKENS, DIM, change), "map %d", m);
    }
    headwise_context_destroy(context);
}

/* A head that looks at itself alone hands out V: the space that any W_O can read. */
static void run_given(enum headwise_isa isa, const headwise_safetensors *file, float *values,
                      const float *targets) {
    const double *percent = vector_f64(file, "reach_fixed_A_percent", TARGETS);
    float *mask = guard_floats(TOKENS * TOKENS), *weights = guard_floats(TOKENS * TOKENS);
    headwise_context *context = seed_context(isa);
    struct oracle_result *exact;
    double change;
    for (int i = 0; i < TOKENS * TOKENS; i++)
        mask[i] = i / TOKENS == i % TOKENS ? 0 : -INFINITY;
    float *y = attend(context, mask, values, weights, &exact, &change);
    headwise_context_destroy(context);
    compare_same_bits(y, values, TOKENS * DIM, "values");
    double bound = 100 * turn_bound(y, TOKENS, DIM, 0);
    for (int t = 0; t < TARGETS; t++)
        compare_expect(100 * (1 - missed_part(y, targets + t * TOKENS * WIDTH, TOKENS, DIM, WIDTH)),
                       percent[t], bound, "target %d", t);
}

/* The rows of a W_O are the only directions that a head's contribution has. */
static void run_fixed_w_o(enum headwise_isa isa, const headwise_safetensors *file, float *values,
                          const float *targets) {
    const double *percent = vector_f64(file, "reach_fixed_WO_percent", TARGETS);
    float *w_o = vector_f32(file, "W_O_fixed", DIM * WIDTH);
    float *columns = guard_floats(DIM * WIDTH), *turned = guard_floats(TOKENS * WIDTH);
    float *unit = guard_plain(DIM * DIM, sizeof(float)), *y = guard_floats(TOKENS * WIDTH);
    for (int i = 0; i < DIM * WIDTH; i++)
        columns[i] = w_o[i % DIM * WIDTH + i / DIM];
    for (int i = 0; i < DIM * DIM; i++)
        unit[i] = i / DIM == i % DIM;
    const struct headwise_mha_config config = {.size = sizeof(config),
                                               .d_model = DIM,
                                               .d_out = WIDTH,
                                               .n_heads = 1,
                                               .layout = HEADWISE_IN_OUT,
                                               .w_q = unit,
                                               .w_k = unit,
                                               .w_v = unit,
                                               .w_o = w_o};
    struct headwise_tensor x = headwise_tensor_brhc(values, HEADWISE_F32, 1, TOKENS, 1, DIM);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, TOKENS, 1, WIDTH);
    headwise_context *context = seed_context(isa);
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    const struct headwise_attention_call call = {.size = sizeof(call), .y = &out, .x = &x};
    assert_int_equal(headwise_mha_forward(context, mha, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    struct oracle_result *exact = oracle_layer(&config, &call);
    double change = norm(exact->out_bound, TOKENS * WIDTH) / norm(exact->out, TOKENS * WIDTH);
    for (int t = -1; t < TARGETS; t++) {
        const float *from = t < 0 ? y : targets + t * TOKENS * WIDTH;
        for (int i = 0; i < TOKENS * WIDTH; i++)
            turned[i] = from[i % TOKENS * WIDTH + i / TOKENS];
        double missed = missed_part(columns, turned, WIDTH, DIM, TOKENS);
        if (t < 0)
            compare_expect(missed, 0, change, "contribution beyond W_O's rows");
        else
            compare_expect(100 * (1 - missed), percent[t], 1e-9, "target %d, W_O", t);
    }
}

/* Percent that any matrix of rank 8 reaches (Eckart, Young 1936). */
static void run_best(const headwise_safetensors *file, const float *targets) {
    const double *percent = vector_f64(file, "reach_best_rank8_percent", TARGETS);
    for (int t = 0; t < TARGETS; t++) {
        double a[WIDTH * TOKENS], s[TOKENS];
        for (int i = 0; i < TOKENS * WIDTH; i++)
            a[i % WIDTH * TOKENS + i / WIDTH] = (double)targets[t * TOKENS * WIDTH + i];
        svd(a, s, NULL, WIDTH, TOKENS);
        compare_expect(100 * (1 - norm(s + DIM, TOKENS - DIM) / norm(s, TOKENS)), percent[t], 1e-9,
                       "target %d, rank 8", t);
    }
}

void seed_run_reach(enum headwise_isa isa, const headwise_safetensors *file) {
    float *values = vector_f32(file, "V", TOKENS * DIM);
    const float *targets = vector_f32(file, "targets", TARGETS * TOKENS * WIDTH);
    run_given(isa, file, values, targets);
    run_fixed_w_o(isa, file, values, targets);
    run_fitted(isa, file, values, targets);
    run_best(file, targets);
    guard_check();
}

/* One head that gives a of its weight to one token and the rest to another: what the best linear
 * reading of its output misses of both tokens' values. */
void seed_run_mixtures(enum headwise_isa isa, const headwise_safetensors *file) {
    enum { SEQUENCES = 400, LENGTH = 16, PARTS = 4, ROWS = SEQUENCES * LENGTH, STEPS = 21 };
    const double *part = vector_f64(file, "sweep_a", STEPS);
    const double *want = vector_f64(file, "sweep_error", STEPS);
    const int64_t *pair = vector_i64(file, "pair_index", LENGTH);
    const int64_t *neighbour = vector_i64(file, "neighbour_index", LENGTH);
    float *values = vector_f32(file, "value", ROWS * PARTS);
    float *targets = guard_plain(ROWS * 2 * PARTS, sizeof(float));
    float *zeros = guard_plain(ROWS * PARTS, sizeof(float)), *y = guard_floats(ROWS * PARTS);
    float *mask = guard_floats(LENGTH * LENGTH);
    headwise_context *context = seed_context(isa);
    for (int i = 0; i < ROWS * PARTS; i++) {
        const float *sequence = values + i / PARTS / LENGTH * LENGTH * PARTS;
        int row = i / PARTS % LENGTH, c = i % PARTS;
        targets[i / PARTS * 2 * PARTS + c] = sequence[pair[row] * PARTS + c];
        targets[i / PARTS * 2 * PARTS + PARTS + c] = sequence[neighbour[row] * PARTS + c];
    }
    struct headwise_tensor q =
        headwise_tensor_bhrc(zeros, HEADWISE_F32, SEQUENCES, 1, LENGTH, PARTS);
    struct headwise_tensor v =
        headwise_tensor_bhrc(values, HEADWISE_F32, SEQUENCES, 1, LENGTH, PARTS);
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, SEQUENCES, 1, LENGTH, PARTS);
    struct headwise_tensor logits = headwise_tensor_bhrc(mask, HEADWISE_F32, 1, 1, LENGTH, LENGTH);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &out, .q = &q, .k = &q, .v = &v, .mask = &logits};
    for (int step = 0; step < STEPS; step++) {
        double rounded = 0;
        for (int i = 0; i < LENGTH * LENGTH; i++) {
            int row = i / LENGTH, key = i % LENGTH;
            double weight = key == pair[row]        ? part[step]
                            : key == neighbour[row] ? 1 - part[step]
                                                    : 0;
            mask[i] = (float)log(weight);
            if (weight > 0)
                rounded = larger(rounded, bound_rounding(HEADWISE_F32, log(weight)));
        }
        assert_int_equal(headwise_attention(context, &call), HEADWISE_OK);
        struct oracle_result *exact = oracle_attention(&call);
        oracle_expect(exact, &out, NULL);
        double change = norm(exact->y_bound, ROWS * PARTS) +
                        2.1 * rounded * norm(exact->y, ROWS * PARTS) * sqrt(2);
        compare_expect(missed_part(y, targets, ROWS, PARTS, 2 * PARTS), want[step],
                       turn_bound(y, ROWS, PARTS, change), "mixture %d", step);
    }
    headwise_context_destroy(context);
    guard_check();
}
