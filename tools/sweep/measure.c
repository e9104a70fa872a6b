/* Runs every head count in turn and takes the times. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/context.h"
#include "common/message.h"
#include "measure/clock.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"

/* Rows of a group take turns, so that a drift of the machine meets all of them. In each turn a row
 * runs once without being timed, for its weights to come back into the caches, then for SLICE_S. */
enum { ROUNDS = 5, MOST_RUNS_A_ROUND = 40 };
static const double SLICE_S = 0.03;

/* A row at work. */
struct case_of_row {
    headwise_context *context;
    headwise_mha *mha;
    struct headwise_tensor x, y;
    struct headwise_attention_options options;
    double *seconds; /* of every timed run */
    int n_runs, runs_a_round;
};

struct measuring {
    struct sweep *sweep;
    struct arena *arena;
    headwise_mha *mhas[SWEEP_MOST]; /* by head count */
    struct progress progress;
};

int64_t sweep_parameters(const struct sweep *sweep) {
    const struct headwise_mha_config *c = &sweep->config;
    int64_t d_out = c->d_out ? c->d_out : c->d_model;
    return c->d_model * (2 * sweep->inner_width + sweep->value_width) + sweep->value_width * d_out +
           (c->b_q ? sweep->inner_width : 0) + (c->b_k ? sweep->inner_width : 0) +
           (c->b_v ? sweep->value_width : 0) + (c->b_o ? d_out : 0);
}

double sweep_flops(const struct sweep *sweep, int64_t length) {
    const struct headwise_mha_config *c = &sweep->config;
    double n = (double)length, pairs = sweep->causal ? n * (n + 1) / 2 : n * n;
    double inner = (double)sweep->inner_width, values = (double)sweep->value_width;
    double matrices = (double)c->d_model * (2 * inner + values) +
                      values * (double)(c->d_out ? c->d_out : c->d_model);
    return 2 * n * matrices + 2 * pairs * (inner + values);
}

static enum headwise_status run_case(void *arg) {
    struct case_of_row *row = arg;
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &row->y, .x = &row->x, .options = &row->options};
    return headwise_mha_forward(row->context, row->mha, &call);
}

/* Runs once; seconds NULL: without being timed. */
static int run_once(struct case_of_row *row, double *seconds) {
    double begin_s = seconds_now();
    if (run_case(row) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    if (seconds)
        *seconds = seconds_now() - begin_s;
    return EXIT_GOOD;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void summarize(struct sweep_row *row, struct case_of_row *runs) {
    int n = runs->n_runs;
    qsort(runs->seconds, (size_t)n, sizeof *runs->seconds, compare_doubles);
    row->n_runs = n;
    row->least_s = runs->seconds[0];
    row->median_s = (runs->seconds[(n - 1) / 2] + runs->seconds[n / 2]) / 2;
    row->quartile_s[0] = runs->seconds[(n - 1) / 4];
    row->quartile_s[1] = runs->seconds[n - 1 - (n - 1) / 4];
}

static int open_case(struct measuring *m, struct case_of_row *row, headwise_context *context,
                     int head, int64_t length) {
    const struct sweep *sweep = m->sweep;
    int64_t d_out = headwise_mha_describe(m->mhas[head])->d_out, rounds = ROUNDS;
    float *y = arena_take(m->arena, length * d_out, sizeof *y);
    *row = (struct case_of_row){.context = context, .mha = m->mhas[head]};
    row->options.size = sizeof row->options;
    row->options.causal = sweep->causal ? HEADWISE_CAUSAL_TOP_LEFT : HEADWISE_CAUSAL_NONE;
    row->x = headwise_tensor_brhc(sweep->x, HEADWISE_F32, 1, length, 1, sweep->config.d_model);
    row->y = headwise_tensor_brhc(y, HEADWISE_F32, 1, length, 1, d_out);
    double least_s = SLICE_S; /* of a few runs, the first ones being slower */
    int code = y ? EXIT_GOOD : EXIT_UNUSABLE;
    for (int i = 0; i < 4 && !code; i++) {
        double s = 0;
        code = run_once(row, &s);
        least_s = s < least_s ? s : least_s;
    }
    if (code)
        return code;
    double runs = SLICE_S / (least_s + 1e-9);
    row->runs_a_round = runs < 1 ? 1 : runs > MOST_RUNS_A_ROUND ? MOST_RUNS_A_ROUND : (int)runs;
    if (sweep->n_repeats > 0) {
        row->runs_a_round = 1;
        rounds = sweep->n_repeats;
    }
    row->seconds = arena_take(m->arena, rounds * row->runs_a_round, sizeof *row->seconds);
    return row->seconds ? EXIT_GOOD : EXIT_UNUSABLE;
}

static void step(struct measuring *m, const struct sweep_row *row) {
    char what[96];
    snprintf(what, sizeof what, "%lld heads, length %lld, %lld thread%s", (long long)row->n_heads,
             (long long)row->length, (long long)row->n_threads, row->n_threads > 1 ? "s" : "");
    progress_step(&m->progress, what);
}

static int time_group(struct measuring *m, struct sweep_row *rows, struct case_of_row *cases) {
    int n = m->sweep->heads.n, code = EXIT_GOOD;
    int64_t rounds = m->sweep->n_repeats > 0 ? m->sweep->n_repeats : ROUNDS;
    for (int64_t round = 0; round < rounds; round++) {
        for (int h = 0; h < n && !code; h++) {
            struct case_of_row *row = &cases[h];
            code = run_once(row, NULL);
            for (int i = 0; i < row->runs_a_round && !code; i++)
                code = run_once(row, &row->seconds[row->n_runs++]);
            step(m, &rows[h]);
        }
    }
    for (int h = 0; h < n && !code; h++) {
        summarize(&rows[h], &cases[h]);
        if (shares_measure(&rows[h].shares, cases[h].context, run_case, &cases[h]) != HEADWISE_OK)
            code = fail("%s", headwise_last_error());
        step(m, &rows[h]);
    }
    return code;
}

/* Outputs do not depend on the threads: those of the first count are enough. */
static int compare_group(struct measuring *m, struct sweep_row *rows, struct case_of_row *cases) {
    int code = EXIT_GOOD;
    int64_t at = (rows - m->sweep->rows) % (m->sweep->lengths.n * m->sweep->heads.n);
    for (int h = 0; m->sweep->compares && h < m->sweep->heads.n; h++) {
        const struct sweep_row *known = &m->sweep->rows[at + h];
        rows[h].is_compared = known->is_compared;
        rows[h].change = known->change;
        memcpy(rows[h].rank, known->rank, sizeof rows[h].rank);
    }
    if (rows[0].is_compared)
        return code;
    for (int h = 0; m->sweep->compares && h < m->sweep->heads.n && !code; h++)
        code = sweep_compare(&rows[h], m->arena, cases[h].context, cases[h].mha, &cases[h].x,
                             cases[h].y.data, cases[0].y.data, &cases[h].options);
    return code;
}

/* All head counts at one length on one number of threads. */
static int measure_group(struct measuring *m, struct sweep_row *rows, headwise_context *context,
                         int64_t n_threads, int64_t length) {
    struct case_of_row cases[SWEEP_MOST];
    int code = EXIT_GOOD;
    for (int h = 0; h < m->sweep->heads.n && !code; h++) {
        rows[h] = (struct sweep_row){
            .n_threads = n_threads, .length = length, .n_heads = m->sweep->heads.values[h]};
        code = open_case(m, &cases[h], context, h, length);
    }
    if (!code)
        code = time_group(m, rows, cases);
    return code ? code : compare_group(m, rows, cases);
}

static int create_layers(struct measuring *m, headwise_context *context) {
    struct sweep *sweep = m->sweep;
    sweep->tier = headwise_context_describe(context)->isa;
    for (int h = 0; h < sweep->heads.n; h++) {
        struct headwise_mha_config config = sweep->config;
        config.n_heads = sweep->heads.values[h];
        config.head_dim = sweep->inner_width / config.n_heads;
        config.value_dim = sweep->value_width / config.n_heads;
        if (headwise_mha_create(&m->mhas[h], context, &config) != HEADWISE_OK)
            return fail("%s", headwise_last_error());
    }
    return EXIT_GOOD;
}

static int measure_threads(struct measuring *m, int t) {
    struct sweep *sweep = m->sweep;
    struct option_integer threads = {true, sweep->threads.values[t]};
    headwise_context *context = NULL;
    int code = context_open(&context, sweep->isa, threads);
    if (!code && t == 0)
        code = create_layers(m, context);
    for (int l = 0; l < sweep->lengths.n && !code; l++)
        code = measure_group(m, sweep->rows + (t * sweep->lengths.n + l) * sweep->heads.n, context,
                             sweep->threads.values[t], sweep->lengths.values[l]);
    headwise_context_destroy(context);
    return code;
}

int sweep_measure(struct sweep *sweep, struct arena *arena) {
    struct measuring m = {.sweep = sweep, .arena = arena};
    int64_t rounds = sweep->n_repeats > 0 ? sweep->n_repeats : ROUNDS;
    int code = EXIT_GOOD;
    sweep->rows = arena_take(arena, sweep_n_rows(sweep), sizeof *sweep->rows);
    if (!sweep->rows)
        return EXIT_UNUSABLE;
    progress_begin(&m.progress, sweep_n_rows(sweep) * (rounds + 1));
    for (int t = 0; t < sweep->threads.n && !code; t++)
        code = measure_threads(&m, t);
    progress_end(&m.progress);
    for (int h = 0; h < sweep->heads.n; h++)
        headwise_mha_destroy(m.mhas[h]);
    return code;
}
