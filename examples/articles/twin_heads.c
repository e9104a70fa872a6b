/* Article 004: heads that resemble each other can be cut. Head 5 is a copy of head 2, head 6 nearly
 * one of head 3. A twin goes without loss when the other one takes over its rows of W_O, and only
 * then. */
#include <math.h>
#include <stdio.h>

#include "support/layer.h"
#include "support/random.h"
#include "support/report.h"

enum { HEADS = 8, DIM = 8, WIDTH = 64, ROWS = 12 };

static struct layer layer = {
    .rows = ROWS, .width = WIDTH, .heads = HEADS, .kv_heads = HEADS, .dim = DIM};
static struct seen whole, cut;

/* Makes head "to" a copy of head "from" in a matrix, plus noise. */
static void copy_head(float *w, int from, int to, struct default_rng *noise) {
    for (int i = 0; i < WIDTH * DIM; i++) {
        double n = noise ? 0.0025 * default_normal(noise) : 0;
        int at = i / DIM * WIDTH + i % DIM;
        w[at + to * DIM] = (float)((double)w[at + from * DIM] + n);
    }
}

static void build(void) {
    struct default_rng rng;
    float *const inputs[] = {layer.w_q, layer.w_k, layer.w_v};
    default_seed(&rng, 31);
    default_fill(&rng, layer.x, ROWS * WIDTH, 1);
    for (int p = 0; p < 3; p++)
        default_fill(&rng, inputs[p], WIDTH * WIDTH, 0.25);
    default_fill(&rng, layer.w_o, WIDTH * WIDTH, 0.15);
    for (int p = 0; p < 3; p++) {
        copy_head(inputs[p], 2, 5, NULL);
        copy_head(inputs[p], 3, 6, &rng);
    }
}

/* The output's relative change without a head; its rows of W_O go to another one, or to none. */
static double without(headwise_context *context, const headwise_mha *mha, int64_t head,
                      int64_t heir) {
    const struct headwise_prune_options options = {
        .size = sizeof options, .heads = &head, .n_heads = 1, .merge_into = &heir};
    headwise_mha *pruned = NULL;
    must(headwise_mha_prune(&pruned, context, mha, &options));
    layer_run(context, pruned, &layer, NULL, &cut);
    headwise_mha_destroy(pruned);
    return relative_error(cut.y, whole.y, ROWS * WIDTH);
}

static void print_square(const char *title, const double *square) {
    printf("%s\n", title);
    for (int i = 0; i < HEADS * HEADS; i++)
        printf("%s%7.3f%s", i % HEADS == 0 ? "  " : "", square[i], i % HEADS == 7 ? "\n" : "");
}

int main(void) {
    headwise_context *context = open_context();
    double maps[HEADS * HEADS], gram[HEADS * HEADS], cosines[HEADS * HEADS], change[HEADS];
    int64_t order[HEADS], twin[HEADS];
    const struct headwise_twin_limits limits = {.size = sizeof limits, .correlation = 0.99};
    build();
    headwise_mha *mha = layer_create(context, &layer);
    layer_run(context, mha, &layer, NULL, &whole);
    layer_correlation(context, mha, &layer, maps);
    must(headwise_contribution_gram(context, mha, gram, whole.head_outputs, 1, ROWS));
    headwise_gram_cosines(cosines, gram, HEADS);
    must(headwise_propose_pruning(order, change, twin, gram, maps, HEADS, &limits));
    print_square("correlation of the maps, off the diagonal", maps);
    print_square("\ncosine of the contributions", cosines);
    printf("\ntwins found:");
    for (int h = 0; h < HEADS; h++) {
        if (twin[h] >= 0)
            printf("  head %d can go to head %d", h, (int)twin[h]);
    }
    double merged5 = without(context, mha, 5, 2), dropped5 = without(context, mha, 5, -1);
    double merged6 = without(context, mha, 6, 3), dropped6 = without(context, mha, 6, -1);
    double dropped0 = without(context, mha, 0, -1);
    headwise_mha_destroy(mha);
    printf("\n\n%-34s %14s %14s\n", "relative change of the output", "merged", "dropped alone");
    printf("%-34s %14s %14.4f\n", "head 5, a copy of 2", rounding(merged5, 2e-6), dropped5);
    printf("%-34s %14.4f %14.4f\n", "head 6, 3 with 1 % noise", merged6, dropped6);
    printf("%-34s %14s %14.4f\n", "head 0, like no other", "", dropped0);
    claim("copies have the same maps", "resemble", text("%.3f", maps[2 * HEADS + 5]),
          maps[2 * HEADS + 5] > 0.999999);
    claim("a twin can be cut: merged", "yes (no number)", rounding(merged5, 2e-6), merged5 < 2e-6);
    claim("a near twin: merged", "yes (no number)", text("%.4f", merged6), merged6 < 0.01);
    claim("a twin can be cut: dropped alone", "yes (no number)", text("%.4f", dropped5),
          dropped5 < 0.01);
    headwise_context_destroy(context);
    return 0;
}
