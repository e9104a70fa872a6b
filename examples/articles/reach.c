/* Article 004: how much of a random target (12 tokens, width 64) a head of 8 can produce. With a
 * map that is given, and weights after it that are free: 1 - sqrt(1 - 8/12). The article says that
 * no map can do better; a map made for the target can, up to the best approximation of rank 8. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/report.h"
#include "support/svd.h"

enum { TOKENS = 12, DIM = 8, WIDTH = 64, TARGETS = 200, SHOWN = 5, STEPS = 500 };

static float values[TOKENS * DIM];
static float targets[TARGETS][TOKENS * WIDTH];

/* y = A V by the library, A = softmax of the logits (the mask; queries are zero). */
static void attend(headwise_context *context, float *y, float *weights, float *logits) {
    static const float zeros[TOKENS * DIM];
    struct headwise_tensor q = headwise_tensor_bhrc(zeros, HEADWISE_F32, 1, 1, TOKENS, DIM);
    struct headwise_tensor v = headwise_tensor_bhrc(values, HEADWISE_F32, 1, 1, TOKENS, DIM);
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, TOKENS, DIM);
    struct headwise_tensor mask = headwise_tensor_bhrc(logits, HEADWISE_F32, 1, 1, TOKENS, TOKENS);
    const struct headwise_probe probe = {.size = sizeof probe, .weights = weights};
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .q = &q, .k = &q, .v = &v, .mask = &mask, .probe = &probe};
    must(headwise_attention(context, &call));
}

/* Percent of the target that the best approximation of rank 8 reaches. */
static double best_of_rank(const float *target) {
    double a[WIDTH * TOKENS], s[TOKENS], all = 0, left = 0;
    for (int i = 0; i < TOKENS * WIDTH; i++)
        a[i % WIDTH * TOKENS + i / WIDTH] = (double)target[i];
    svd(a, s, NULL, WIDTH, TOKENS);
    for (int j = 0; j < TOKENS; j++) {
        all += s[j] * s[j];
        left += j < DIM ? 0 : s[j] * s[j];
    }
    return 100 * (1 - sqrt(left / all));
}

/* The gradient of what is missed, ||t - H W||^2 / 2 with H = A V and the best W: -(t - H W) W^T
 * by H, and from there by the logits. */
static void gradient(double *g, const float *y, const float *weights, const float *target) {
    double u[TOKENS * DIM], s[DIM], v[DIM * DIM], w[DIM * WIDTH], by_y[TOKENS * DIM] = {0};
    for (int i = 0; i < TOKENS * DIM; i++)
        u[i] = (double)y[i];
    svd(u, s, v, TOKENS, DIM);
    for (int i = 0; i < DIM * WIDTH; i++) {
        w[i] = 0;
        for (int j = 0; j < DIM; j++) {
            double along = 0;
            for (int t = 0; t < TOKENS; t++)
                along += u[t * DIM + j] * (double)target[t * WIDTH + i % WIDTH];
            w[i] += v[i / WIDTH * DIM + j] * along / (s[j] * s[j]);
        }
    }
    for (int i = 0; i < TOKENS * WIDTH; i++) {
        double missed = (double)target[i];
        for (int j = 0; j < DIM; j++)
            missed -= (double)y[i / WIDTH * DIM + j] * w[j * WIDTH + i % WIDTH];
        for (int j = 0; j < DIM; j++)
            by_y[i / WIDTH * DIM + j] -= missed * w[j * WIDTH + i % WIDTH];
    }
    for (int t = 0; t < TOKENS; t++) {
        double by_weight[TOKENS], mean = 0;
        for (int k = 0; k < TOKENS; k++) {
            by_weight[k] = 0;
            for (int j = 0; j < DIM; j++)
                by_weight[k] += by_y[t * DIM + j] * (double)values[k * DIM + j];
            mean += by_weight[k] * (double)weights[t * TOKENS + k];
        }
        for (int k = 0; k < TOKENS; k++)
            g[t * TOKENS + k] = (double)weights[t * TOKENS + k] * (by_weight[k] - mean);
    }
}

/* Percent reached by a map that is fitted to the target: Adam on its logits. */
static double fitted(headwise_context *context, const float *target) {
    float logits[TOKENS * TOKENS], y[TOKENS * DIM], weights[TOKENS * TOKENS];
    double g[TOKENS * TOKENS], mean[TOKENS * TOKENS] = {0}, square[TOKENS * TOKENS] = {0};
    struct default_rng rng;
    default_seed(&rng, 0);
    default_fill(&rng, logits, TOKENS * TOKENS, 1);
    for (int step = 1; step <= STEPS; step++) {
        attend(context, y, weights, logits);
        gradient(g, y, weights, target);
        for (int i = 0; i < TOKENS * TOKENS; i++) {
            mean[i] = 0.9 * mean[i] + 0.1 * g[i];
            square[i] = 0.999 * square[i] + 0.001 * g[i] * g[i];
            logits[i] -= (float)(0.05 * mean[i] / (1 - pow(0.9, step)) /
                                 (sqrt(square[i] / (1 - pow(0.999, step))) + 1e-12));
        }
    }
    attend(context, y, weights, logits);
    return 100 * (1 - missed_part(y, target, TOKENS, DIM, WIDTH));
}

int main(void) {
    struct default_rng rng;
    headwise_context *context = open_context();
    double mean = 0, square = 0, bound = 0, formula = 100 * (1 - sqrt(1 - DIM / (double)TOKENS));
    bool beats = true;
    default_seed(&rng, 2604);
    default_fill(&rng, values, TOKENS * DIM, 1);
    for (int t = 0; t < TARGETS; t++)
        default_fill(&rng, targets[t], TOKENS * WIDTH, 1);
    printf("%-8s %18s %22s %18s\n", "target", "the given map", "a map made for it",
           "any of rank 8");
    for (int t = 0; t < TARGETS; t++) {
        double given = 100 * (1 - missed_part(values, targets[t], TOKENS, DIM, WIDTH));
        double best = best_of_rank(targets[t]);
        mean += given / TARGETS;
        square += given * given / TARGETS;
        bound += best / TARGETS;
        if (t >= SHOWN)
            continue;
        double made = fitted(context, targets[t]);
        printf("%-8d %16.1f %% %20.1f %% %16.1f %%\n", t, given, made, best);
        beats = beats && made > formula + 5;
    }
    double deviation = sqrt(square - mean * mean);
    claim("the formula", "42.3 %", text("%.1f %%", formula), prints_as(formula, 42.3, 1));
    claim("mean over 200 targets, given map", "42.4 %", text("%.1f %%", mean),
          prints_as(mean, 42.4, 1));
    claim("its standard deviation", "1.84", text("%.2f", deviation), prints_as(deviation, 1.84, 2));
    claim("no map does better", "42.3 %", text("%.1f %% (rank 8)", bound), !beats);
    headwise_context_destroy(context);
    return 0;
}
