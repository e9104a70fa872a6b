/* Article 000: four heads with random matrices look at the same sentence in four ways. */
#include <stdio.h>
#include <string.h>

#include "support/layer.h"
#include "support/random.h"
#include "support/report.h"

enum { WIDTH = 32, HEADS = 4, DIM = 8 };

struct printed {
    const char *token;
    double weight;
};

static struct layer layer = {.width = WIDTH, .heads = HEADS, .kv_heads = HEADS, .dim = DIM};
static struct seen seen;
static const char *tokens[MOST_ROWS];
static int64_t ids[MOST_ROWS];

/* The article's order: embeddings by the old generator; then, by the new one, W_Q, W_K, W_V of one
 * head after the other, and W_O. */
static void build(char *sentence, uint32_t seed, double sd) {
    float *const parts[] = {layer.w_q, layer.w_k, layer.w_v}, columns[WIDTH * DIM];
    struct default_rng weights;
    layer.rows = split_sentence(sentence, tokens, ids);
    embed_words(layer.x, WIDTH, ids, layer.rows, seed, sd);
    default_seed(&weights, seed);
    for (int64_t h = 0; h < HEADS; h++) {
        for (int p = 0; p < 3; p++) {
            default_fill(&weights, columns, WIDTH * DIM, 0.4);
            for (int64_t i = 0; i < WIDTH * DIM; i++)
                parts[p][i / DIM * WIDTH + h * DIM + i % DIM] = columns[i];
        }
    }
    default_fill(&weights, layer.w_o, WIDTH * WIDTH, 0.3);
}

/* Prints a head's strongest other tokens beside the article's; counts those that agree. */
static void compare(int64_t h, const struct printed *printed, int64_t n, int *words, int *both) {
    const float *map = seen.weights + h * layer.rows * layer.rows;
    printf("\nhead %d         %-22s %s\n", (int)h + 1, "article", "here");
    for (int64_t i = 0; i < n; i++) {
        int64_t j = strongest_key(map, i, layer.rows, true);
        double weight = (double)map[i * layer.rows + j];
        bool same = strcmp(tokens[j], printed[i].token) == 0;
        printf("%-14s %-12s %.2f      %-12s %.2f%s\n", tokens[i], printed[i].token,
               printed[i].weight, tokens[j], weight, same ? "  same word" : "");
        *words += same;
        *both += same && prints_as(weight, printed[i].weight, 2);
    }
}

static const struct printed cat[HEADS][11] = {
    {{"the", .18},
     {"the", .14},
     {"up", .23},
     {"suddenly", .40},
     {"the", .17},
     {"the", .23},
     {"the", .18},
     {"on", .58},
     {"the", .14},
     {"the", .17},
     {"on", .28}},
    {{"was", .17},
     {"the", .36},
     {"mat", .34},
     {"on", .26},
     {"was", .65},
     {"was", .54},
     {"was", .17},
     {"suddenly", .20},
     {"woke", .63},
     {"was", .54},
     {"was", .74}},
    {{"on", .28},
     {"the", .16},
     {"the", .33},
     {"on", .14},
     {"on", .46},
     {"was", .14},
     {"on", .28},
     {"suddenly", .43},
     {"woke", .14},
     {"on", .33},
     {"was", .22}},
    {{"mat", .32},
     {"on", .18},
     {"woke", .33},
     {"the", .11},
     {"mat", .22},
     {"mat", .25},
     {"mat", .32},
     {"on", .26},
     {"on", .20},
     {"sleeping", .30},
     {"on", .38}},
};
static const struct printed officer[12] = {
    {"officer", .09},   {"officer", .09},  {"officer", .09},   {"officer", .09},
    {"reviewing", .08}, {"was", .09},      {"loan", .09},      {"application", .09},
    {"loan", .09},      {"customer", .08}, {"submitted", .08}, {"customer", .08},
};

/* The greatest correlation of the maps of two heads. */
static double see(headwise_context *context) {
    double correlation[HEADS * HEADS], most = -1;
    headwise_mha *mha = layer_create(context, &layer);
    layer_run(context, mha, &layer, NULL, &seen);
    layer_correlation(context, mha, &layer, correlation);
    headwise_mha_destroy(mha);
    for (int i = 0; i < HEADS * HEADS; i++) {
        if (i / HEADS != i % HEADS && correlation[i] > most)
            most = correlation[i];
    }
    return most;
}

int main(void) {
    char cat_text[] = "the cat that was sleeping on the mat suddenly woke up";
    char officer_text[] = "the bank officer who was reviewing the loan application the customer "
                          "submitted last week will call tomorrow";
    headwise_context *context = open_context();
    int words = 0, both = 0, officer_words = 0, officer_both = 0;
    build(cat_text, 0, 0.5);
    double most = see(context);
    printf("strongest other word of each word of the cat's sentence");
    for (int64_t h = 0; h < HEADS; h++)
        compare(h, cat[h], layer.rows, &words, &both);
    build(officer_text, 123, 0.4);
    double officer_most = see(context);
    printf("\nand of the officer's sentence");
    compare(0, officer, 12, &officer_words, &officer_both);
    claim("four heads, four maps: largest correlation", "different", text("%.2f", most),
          most < 0.9);
    claim("the same in the officer's sentence", "different", text("%.2f", officer_most),
          officer_most < 0.9);
    claim("cat: strongest word of 44 rows", "as listed", text("%d of 44", words), words == 44);
    claim("cat: word and weight", "as listed", text("%d of 44", both), both == 44);
    claim("officer, head 1: strongest word", "as listed", text("%d of 12", officer_words),
          officer_words == 12);
    claim("officer, head 1: word and weight", "as listed", text("%d of 12", officer_both),
          officer_both == 12);
    headwise_context_destroy(context);
    return 0;
}
