/* Article 004: a head that looks for the same word and a head that looks for near places, side by
 * side in one layer. The article prints its figures but not its inputs; these two tables give all
 * of them, up to what is said below. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/layer.h"
#include "support/report.h"

enum { TOKENS = 6, WIDTH = 8, DIM = 4 };

/* Words: tokens 0 and 3, 1 and 4, 2 and 5 are nearly the same. */
static const float content[2][TOKENS][DIM] = {
    {{.83f, .13f, .09f, .28f},
     {-.06f, .80f, -.04f, -.17f},
     {.09f, .08f, .97f, .10f},
     {.68f, -.16f, .08f, .13f},
     {-.09f, .80f, .02f, .18f},
     {-.04f, .14f, .81f, -.17f}},
    {{.68f, .04f, .02f, .11f},
     {-.03f, .80f, .09f, -.14f},
     {-.08f, -.05f, .69f, .20f},
     {.65f, -.03f, .16f, -.21f},
     {-.13f, .79f, .10f, .26f},
     {-.16f, -.09f, .64f, -.10f}},
};

static struct layer layer = {.rows = TOKENS, .width = WIDTH, .heads = 2, .kv_heads = 2, .dim = DIM};
static struct seen seen;

/* Columns 0-3 the word, 4-7 sines and cosines of the place by two frequencies, 1 and 1/sqrt(base).
 * Head 0 reads the former, head 1 the latter; W_Q = W_K = 3 times the unit matrix, so that a score
 * is 9 / sqrt(4) times the inner product. With the other base the article's figures ask for a
 * little less than 3. */
static void build(int variant, double base) {
    const float strength[] = {3, variant == 0 ? 3 : 2.8481573f};
    for (int i = 0; i < TOKENS; i++) {
        for (int c = 0; c < DIM; c++) {
            double angle = c < 2 ? i : i / sqrt(base);
            layer.x[i * WIDTH + c] = content[variant][i][c];
            layer.x[i * WIDTH + DIM + c] = (float)(c % 2 ? cos(angle) : sin(angle));
        }
    }
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        float unit = i / WIDTH == i % WIDTH;
        layer.w_q[i] = layer.w_k[i] = strength[i % WIDTH / DIM] * unit;
        layer.w_v[i] = layer.w_o[i] = unit;
    }
}

/* A figure of row 1, of the mean over the rows that have it, and of the article. */
struct figure {
    const char *what;
    int head, distance; /* 0 self, 1 sides, 2, or 3 the pair */
    double printed, row, mean;
};

static void measure(struct figure *f) {
    const float *map = seen.weights + f->head * TOKENS * TOKENS;
    double sum = 0, row = 0;
    int n = 0, of_row = 0;
    for (int i = 0; i < TOKENS * TOKENS; i++) {
        int query = i / TOKENS, distance = abs(query - i % TOKENS);
        if (distance != f->distance)
            continue;
        sum += (double)map[i];
        n++;
        row += query == 1 ? (double)map[i] : 0;
        of_row += query == 1;
    }
    f->row = row / of_row;
    f->mean = sum / n;
}

/* How many of the figures row 1 gives, and how many of the content head's three the means. */
static void show(headwise_context *context, int variant, double base, int *rows, int *means,
                 double *correlation) {
    struct figure figures[] = {
        {"content: self", 0, 0, .510, 0, 0},   {"content: pair", 0, 3, .389, 0, 0},
        {"content: sides", 0, 1, .025, 0, 0},  {"position: self", 1, 0, .797, 0, 0},
        {"position: sides", 1, 1, .101, 0, 0}, {"position: two away", 1, 2, .001, 0, 0},
        {"position: pair", 1, 3, .000, 0, 0}};
    double square[4];
    build(variant, base);
    headwise_mha *mha = layer_create(context, &layer);
    layer_run(context, mha, &layer, NULL, &seen);
    layer_correlation(context, mha, &layer, square);
    headwise_mha_destroy(mha);
    *correlation = square[1];
    *rows = *means = 0;
    printf("%sfrequencies 1 and %.3f: %-14s %8s %8s %12s\n", variant ? "\n" : "", 1 / sqrt(base),
           "", "article", "row 1", "mean of all");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        struct figure *f = &figures[i];
        measure(f);
        printf("%-40s %8.3f %8.3f %12.3f\n", f->what, f->printed, f->row, f->mean);
        *rows += prints_as(f->row, f->printed, 3);
        *means += f->head == 0 && prints_as(f->mean, f->printed, 3);
    }
    printf("%-40s %8s %8.3f\n", "position: first to last token", "",
           (double)seen.weights[TOKENS * TOKENS + TOKENS - 1]);
}

int main(void) {
    headwise_context *context = open_context();
    double correlation[2];
    int rows[2], means[2];
    show(context, 0, 10000, &rows[0], &means[0], &correlation[0]);
    show(context, 1, 10, &rows[1], &means[1], &correlation[1]);
    for (int i = 0; i < 2; i++) {
        const char *base = i == 0 ? "base 10000" : "base 10";
        claim(text("%s: seven figures in row 1", base), "as listed", text("%d of 7", rows[i]),
              rows[i] == 7);
        claim(text("%s: content figures as means", base), "as listed", text("%d of 3", means[i]),
              means[i] == 3);
        claim(text("%s: correlation of the maps", base), "-0.374", text("%.3f", correlation[i]),
              prints_as(correlation[i], -0.374, 3));
    }
    headwise_context_destroy(context);
    return 0;
}
