/* What a forward tells: the statistics of every row, and what each head adds to the output. */
#include "inspect/forward.h"

#include <math.h>
#include <string.h>

#include "common/message.h"
#include "headwise/heads.h"

/* Arrays [batch][heads][queries]. */
struct rows {
    float *entropy, *largest, *mean_distance, *self, *previous, *next, *first;
    int64_t *strongest;
};

static bool take_rows(struct rows *rows, struct arena *arena, int64_t n) {
    float **const all[] = {&rows->entropy,  &rows->largest, &rows->mean_distance, &rows->self,
                           &rows->previous, &rows->next,    &rows->first};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = arena_take(arena, n, sizeof(float));
        if (!*all[i])
            return false;
    }
    rows->strongest = arena_take(arena, n, sizeof *rows->strongest);
    return rows->strongest != NULL;
}

static int forward(struct collecting *c, const struct rows *rows) {
    const struct findings *f = c->findings;
    const struct headwise_statistics statistics = {
        .size = sizeof statistics,
        .entropy = rows->entropy,
        .largest = rows->largest,
        .strongest = rows->strongest,
        .mean_distance = rows->mean_distance,
        .self_weight = rows->self,
        .previous_weight = rows->previous,
        .next_weight = rows->next,
        .first_weight = rows->first,
    };
    c->head_outputs =
        arena_take(c->arena, f->batch * f->n_heads * f->n_queries * f->value_dim, sizeof(float));
    float *y = arena_take(c->arena, f->batch * f->n_queries * f->d_out, sizeof *y);
    if (!c->head_outputs || !y)
        return EXIT_UNUSABLE;
    const struct headwise_probe probe = {
        .size = sizeof probe, .head_outputs = c->head_outputs, .statistics = &statistics};
    struct headwise_tensor out =
        headwise_tensor_brhc(y, HEADWISE_F32, f->batch, f->n_queries, 1, f->d_out);
    struct headwise_attention_call call = c->opened->call;
    call.y = &out;
    call.probe = &probe;
    if (headwise_mha_forward(c->opened->context, c->mha, &call) != HEADWISE_OK)
        return fail_library(c);
    return EXIT_GOOD;
}

/* The mean of a head's rows that see a key. */
static double average(const struct findings *f, const struct rows *rows, const float *values,
                      int64_t head) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t b = 0; b < f->batch; b++) {
        int64_t at = (b * f->n_heads + head) * f->n_queries;
        for (int64_t i = 0; i < f->n_queries; i++) {
            if (rows->strongest[at + i] < 0 && values[at + i] == 0)
                continue;
            sum += values[at + i];
            n++;
        }
    }
    return n > 0 ? sum / (double)n : 0;
}

static double average_distance(const struct findings *f, const struct rows *rows, int64_t head) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t b = 0; b < f->batch; b++) {
        int64_t at = (b * f->n_heads + head) * f->n_queries;
        for (int64_t i = 0; i < f->n_queries; i++) {
            if (rows->strongest[at + i] < 0)
                continue;
            sum += fabs((double)(i + f->offset - rows->strongest[at + i]));
            n++;
        }
    }
    return n > 0 ? sum / (double)n : 0;
}

static void average_rows(struct findings *f, const struct rows *rows) {
    for (int64_t h = 0; h < f->n_heads; h++) {
        struct head_findings *head = &f->heads[h];
        head->entropy = average(f, rows, rows->entropy, h);
        head->largest = average(f, rows, rows->largest, h);
        head->mean_distance = average(f, rows, rows->mean_distance, h);
        head->self = average(f, rows, rows->self, h);
        head->previous = average(f, rows, rows->previous, h);
        head->next = average(f, rows, rows->next, h);
        head->first = average(f, rows, rows->first, h);
        head->distance = average_distance(f, rows, h);
    }
    int64_t at = f->entry * f->n_heads * f->n_queries;
    f->strongest = rows->strongest + at;
    f->strongest_weight = rows->largest + at;
}

static bool is_finite(const double *numbers, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i]))
            return false;
    }
    return true;
}

/* Norms, shares, cosines, and what the output loses with each head and in the proposed order. */
static int weigh_heads(struct collecting *c) {
    struct findings *f = c->findings;
    int64_t n = f->n_heads;
    double *row = arena_take(c->arena, n, sizeof *row);
    f->gram = arena_take(c->arena, n * n, sizeof *f->gram);
    f->cosines = arena_take(c->arena, n * n, sizeof *f->cosines);
    f->order = arena_take(c->arena, n, sizeof *f->order);
    f->twins = arena_take(c->arena, n, sizeof *f->twins);
    f->order_change = arena_take(c->arena, n, sizeof *f->order_change);
    if (!row || !f->gram || !f->cosines || !f->order || !f->twins || !f->order_change)
        return EXIT_UNUSABLE;
    if (headwise_contribution_gram(c->opened->context, c->mha, f->gram, c->head_outputs, f->batch,
                                   f->n_queries) != HEADWISE_OK)
        return fail_library(c);
    for (int64_t h = 0; h < n; h++)
        f->order[h] = h; /* all, for the change without any */
    f->output_norm = headwise_gram_change(f->gram, n, f->order, n);
    headwise_gram_cosines(f->cosines, f->gram, n);
    headwise_gram_norms(row, f->gram, n);
    for (int64_t h = 0; h < n; h++) {
        f->heads[h].norm = row[h];
        f->heads[h].alone =
            f->output_norm > 0 ? headwise_gram_change(f->gram, n, &h, 1) / f->output_norm : 0;
    }
    headwise_gram_shares(row, f->gram, n);
    for (int64_t h = 0; h < n; h++)
        f->heads[h].share = row[h];
    const struct headwise_twin_limits limits = {.size = sizeof limits, .cosine = TWIN_COSINE};
    f->has_order = is_finite(f->gram, n * n);
    if (f->has_order && headwise_propose_pruning(f->order, f->order_change, f->twins, f->gram, NULL,
                                                 n, &limits) != HEADWISE_OK)
        return fail_library(c);
    return EXIT_GOOD;
}

int collect_outputs(struct collecting *c) {
    struct findings *f = c->findings;
    struct rows rows;
    if (!take_rows(&rows, c->arena, f->batch * f->n_heads * f->n_queries))
        return EXIT_UNUSABLE;
    int code = forward(c, &rows);
    if (code)
        return code;
    average_rows(f, &rows);
    return weigh_heads(c);
}
