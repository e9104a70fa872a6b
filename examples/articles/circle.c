/* Article 004: scores of rank 2 can point every row at any key. Keys stand on a circle, and each
 * query at the place of its target: the score is the cosine of the angle between them. */
#include <math.h>
#include <stdio.h>

#include "support/report.h"

enum { MOST = 16 };

struct task {
    const char *name;
    int n, target[MOST];
};

static const struct task tasks[] = {
    {"all at token 5", 12, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}},
    {"itself", 12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"three back", 12, {9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
    {"permutation 0", 12, {9, 2, 7, 4, 5, 11, 0, 3, 6, 10, 8, 1}},
    {"permutation 1", 12, {8, 11, 4, 7, 5, 0, 1, 9, 2, 10, 6, 3}},
    {"permutation 2", 12, {2, 0, 9, 10, 11, 7, 5, 6, 3, 4, 8, 1}},
    {"two columns", 12, {3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7}},
    {"three back of 4", 4, {1, 2, 3, 0}},
    {"three back of 8", 8, {5, 6, 7, 0, 1, 2, 3, 4}},
    {"three back of 16", 16, {13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
};

/* What part of the rows points at its target, and the least weight on a target. One head of that
 * size, keys and queries as given, scores times scale. */
static double run(headwise_context *context, const struct task *task, const float *queries,
                  const float *keys, int64_t dim, float scale, double *least) {
    float out[MOST * 2], largest[MOST], weights[MOST * MOST];
    int64_t strongest[MOST];
    const struct headwise_statistics statistics = {
        .size = sizeof statistics, .largest = largest, .strongest = strongest};
    const struct headwise_probe probe = {
        .size = sizeof probe, .weights = weights, .statistics = &statistics};
    const struct headwise_attention_options options = {
        .size = sizeof options, .scale_is_set = true, .scale = scale};
    struct headwise_tensor q = headwise_tensor_bhrc(queries, HEADWISE_F32, 1, 1, task->n, dim);
    struct headwise_tensor k = headwise_tensor_bhrc(keys, HEADWISE_F32, 1, 1, task->n, dim);
    struct headwise_tensor y = headwise_tensor_bhrc(out, HEADWISE_F32, 1, 1, task->n, dim);
    const struct headwise_attention_call call = {.size = sizeof call,
                                                 .y = &y,
                                                 .q = &q,
                                                 .k = &k,
                                                 .v = &k,
                                                 .options = &options,
                                                 .probe = &probe};
    int right = 0;
    must(headwise_attention(context, &call));
    *least = 1;
    for (int i = 0; i < task->n; i++) {
        right += strongest[i] == task->target[i];
        double weight = (double)weights[i * task->n + task->target[i]];
        *least =
            weight < *least ? weight : *least; /* gcc 12 for aarch64 cannot compile fmin() here */
    }
    return right / (double)task->n;
}

/* Rank 2: the circle. */
static double on_circle(headwise_context *context, const struct task *task, double *least) {
    float queries[MOST * 2], keys[MOST * 2];
    double turn = 2 * acos(-1) / task->n;
    for (int i = 0; i < task->n; i++) {
        queries[2 * i] = (float)cos(turn * task->target[i]);
        queries[2 * i + 1] = (float)sin(turn * task->target[i]);
        keys[2 * i] = (float)cos(turn * i);
        keys[2 * i + 1] = (float)sin(turn * i);
    }
    return run(context, task, queries, keys, 2, 100, least);
}

/* Rank 1: a query's sign chooses between the largest and the smallest key; two columns is all that
 * there can be. Here the targets of the first and the last row. */
static double on_line(headwise_context *context, const struct task *task, double *least) {
    float queries[MOST], keys[MOST] = {0};
    int first = task->target[0], last = task->target[task->n - 1];
    keys[last] = -1;
    keys[first] = 1;
    for (int i = 0; i < task->n; i++)
        queries[i] = task->target[i] == first ? 1 : -1;
    return run(context, task, queries, keys, 1, 100, least);
}

int main(void) {
    enum { N = sizeof tasks / sizeof *tasks };
    headwise_context *context = open_context();
    double circle[N], line[N], least, unused, worst = 1;
    printf("%-18s %7s %14s %14s %20s %10s\n", "each row points at", "tokens", "rank 1, rows",
           "rank 2, rows", "least target weight", "margin");
    for (int t = 0; t < N; t++) {
        circle[t] = on_circle(context, &tasks[t], &least);
        line[t] = on_line(context, &tasks[t], &unused);
        worst = fmin(worst, circle[t]);
        printf("%-18s %7d %14.2f %14.2f %20.4f %10.4f\n", tasks[t].name, tasks[t].n, line[t],
               circle[t], least, 1 - cos(2 * acos(-1) / tasks[t].n));
    }
    claim("rank 2 points anywhere", "1.00", text("%.2f", worst), worst == 1);
    claim("least rank: constant", "1", line[0] == 1 ? "1" : "2", line[0] == 1);
    claim("least rank: three back", "2", line[2] < 1 && circle[2] == 1 ? "2" : "another",
          line[2] < 1 && circle[2] == 1);
    claim("least rank: three permutations", "2, 2, 2",
          line[3] < 1 && line[4] < 1 && line[5] < 1 && worst == 1 ? "2, 2, 2" : "others",
          line[3] < 1 && line[4] < 1 && line[5] < 1 && worst == 1);
    claim("least rank: three back of 4 ... 16", "2",
          line[7] < 1 && line[9] < 1 && worst == 1 ? "2" : "another",
          line[7] < 1 && line[8] < 1 && line[9] < 1 && worst == 1);
    printf(
        "\nThe margin between a target and its neighbour, 1 - cos(2 pi / n), falls with the square "
        "of n:\na sharp map of rank 2 needs large queries.\n");
    headwise_context_destroy(context);
    return 0;
}
