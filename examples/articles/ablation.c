/* Articles 000 and 004: heads switched off by gates. What is left is the sum of the other terms,
 * and what is lost can be told before anything is switched off. */
#include <math.h>
#include <stdio.h>

#include "support/layer.h"
#include "support/report.h"

enum { HEADS = 8 };

static struct layer layer;
static struct seen all, gated;

/* The sum of the terms of the heads whose gate is 1. */
static void sum_terms(float *sum, const float *gates, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int64_t h = 0; h < HEADS; h++)
            s += (double)gates[h] * (double)all.contributions[h * n + i];
        sum[i] = (float)s;
    }
}

static double norm(const float *x, int64_t n) {
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += (double)x[i] * (double)x[i];
    return sqrt(square);
}

/* Losing each head: by running the layer without it, and by the gram of contributions. */
static double print_losses(headwise_context *context, const headwise_mha *mha, const double *gram) {
    const int64_t places[HEADS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t n = layer.rows * layer.width;
    double shares[HEADS], whole = headwise_gram_change(gram, HEADS, places, HEADS), worst = 0;
    headwise_gram_shares(shares, gram, HEADS);
    printf("%-6s %18s %18s %18s\n", "head", "loss when run", "loss foretold", "share of output");
    for (int64_t h = 0; h < HEADS; h++) {
        float gates[HEADS] = {1, 1, 1, 1, 1, 1, 1, 1};
        gates[h] = 0;
        layer_run(context, mha, &layer, gates, &gated);
        double run = relative_error(gated.y, all.y, n);
        double foretold = headwise_gram_change(gram, HEADS, &h, 1) / whole;
        printf("%-6d %18.4f %18.4f %18.4f\n", (int)h, run, foretold, shares[h]);
        worst = fmax(worst, fabs(run - foretold));
    }
    return worst;
}

int main(void) {
    /* Rows of gates as the seeds' table has them: all, single heads, every other, all but one. */
    static const float masks[][HEADS] = {{1, 1, 1, 1, 1, 1, 1, 1}, {1, 0, 0, 0, 0, 0, 0, 0},
                                         {0, 0, 0, 1, 0, 0, 0, 0}, {1, 0, 1, 0, 1, 0, 1, 0},
                                         {1, 1, 1, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};
    headwise_context *context = open_context();
    double gram[HEADS * HEADS], worst = 0, change[HEADS];
    int64_t order[HEADS];
    static float sum[MOST_ROWS * MOST_WIDTH];
    layer_of_004(&layer, HEADS);
    const int64_t n = layer.rows * layer.width;
    headwise_mha *mha = layer_create(context, &layer);
    layer_run(context, mha, &layer, NULL, &all);
    must(headwise_contribution_gram(context, mha, gram, all.head_outputs, 1, layer.rows));
    double foretelling = print_losses(context, mha, gram);
    must(headwise_propose_pruning(order, change, NULL, gram, NULL, HEADS, NULL));
    printf("\nheads in the order in which they can go, and the output's change by then\n");
    for (int i = 0; i < HEADS; i++)
        printf("  %d %.3f", (int)order[i], change[i]);
    printf("\n\n%-20s %s\n", "gates", "norm of the output / norm of all");
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        layer_run(context, mha, &layer, masks[m], &gated);
        sum_terms(sum, masks[m], n);
        worst = fmax(worst, largest_difference(gated.y, sum, n));
        for (int h = 0; h < HEADS; h++)
            printf("%d ", (int)masks[m][h]);
        printf("    %.4f\n", norm(gated.y, n) / norm(all.y, n));
    }
    headwise_mha_destroy(mha);
    claim("000: only some heads: the sum of their terms", "exact", rounding(worst, 1e-7),
          worst < 1e-7);
    claim("004: the others' terms are zero", "exact", rounding(worst, 1e-7), worst < 1e-7);
    claim("loss foretold without running (difference)", "(not claimed)",
          rounding(foretelling, 1e-5), foretelling < 1e-5);
    headwise_context_destroy(context);
    return 0;
}
