/* Article 000: one head whose queries, keys and values are the embeddings themselves. What "bank"
 * looks at, and the strongest other token of each word of a longer sentence. */
#include <stdio.h>
#include <string.h>

#include "support/layer.h"
#include "support/report.h"

enum { WIDTH = 32 };

static float x[MOST_ROWS * WIDTH], map[MOST_ROWS * MOST_ROWS];
static const char *tokens[MOST_ROWS];
static int64_t ids[MOST_ROWS];

/* The map of one head on the sentence; returns the number of its tokens. */
static int64_t attend(headwise_context *context, char *sentence, uint32_t seed, double sd) {
    static float y[MOST_ROWS * WIDTH];
    int64_t n = split_sentence(sentence, tokens, ids);
    embed_words(x, WIDTH, ids, n, seed, sd);
    struct headwise_tensor q = headwise_tensor_brhc(x, HEADWISE_F32, 1, n, 1, WIDTH);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, n, 1, WIDTH);
    const struct headwise_probe probe = {.size = sizeof probe, .weights = map};
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .q = &q, .k = &q, .v = &q, .probe = &probe};
    must(headwise_attention(context, &call));
    return n;
}

/* The key of rank r in a row: how often that many others are larger. */
static int64_t key_of_rank(const float *row, int64_t n, int64_t rank) {
    for (int64_t j = 0; j < n; j++) {
        int64_t before = 0;
        for (int64_t k = 0; k < n; k++)
            before += row[k] > row[j] || (row[k] == row[j] && k < j);
        if (before == rank)
            return j;
    }
    return -1;
}

static bool bank(headwise_context *context) {
    char sentence[] = "the bank can guarantee deposits will eventually cover future tuition costs "
                      "because it has enough money";
    static const char *const words[] = {"bank", "costs",  "it",      "will",
                                        "the",  "enough", "because", "has"};
    static const double weights[] = {.133, .069, .069, .067, .067, .065, .065, .064};
    int64_t n = attend(context, sentence, 42, 0.5);
    bool same = true;
    printf("row \"bank\", the eight largest weights\n%-24s %s\n", "article", "here");
    for (int r = 0; r < 8; r++) {
        int64_t j = key_of_rank(map + n, n, r);
        double here = (double)map[n + j];
        printf("%-12s %.3f       %-12s %.3f\n", words[r], weights[r], tokens[j], here);
        same = same && strcmp(words[r], tokens[j]) == 0 && prints_as(here, weights[r], 3);
    }
    return same;
}

/* How many rows have the article's token, and how many its weight as well. */
static void officer(headwise_context *context, int *right_token, int *right_weight, double *self) {
    char sentence[] = "the bank officer who was reviewing the loan application the customer "
                      "submitted last week will call tomorrow";
    static const double weights[] = {.11, .09, .09, .10, .08, .08, .11, .09, .09, .11, .09, .09};
    int64_t n = attend(context, sentence, 123, 0.4);
    *right_token = *right_weight = 0;
    *self = 0;
    printf("\nstrongest other token of the first twelve words\n%-14s %-24s %s\n", "", "article",
           "here");
    for (int64_t i = 0; i < 12; i++) {
        int64_t j = strongest_key(map, i, n, true);
        double here = (double)map[i * n + j];
        bool is_the = strcmp(tokens[j], "the") == 0;
        printf("%-14s %-12s %.2f        %-12s %.2f\n", tokens[i], "the", weights[i], tokens[j],
               here);
        *right_token += is_the;
        *right_weight += is_the && prints_as(here, weights[i], 2);
        *self += (double)map[i * n + i] / 12;
    }
}

int main(void) {
    headwise_context *context = open_context();
    int right_token, right_weight;
    double self;
    bool same = bank(context);
    officer(context, &right_token, &right_weight, &self);
    claim("\"bank\": words and weights", "as listed", same ? "the same" : "others", same);
    claim("officer: every word's strongest is \"the\"", "12 of 12", text("%d of 12", right_token),
          right_token == 12);
    claim("officer: the weights", "as listed", text("%d of 12", right_weight), right_weight == 12);
    printf("\nQ = K = V makes a token most like itself: the mean weight on self is %.2f, not 0.06 "
           "(1/17).\n",
           self);
    headwise_context_destroy(context);
    return 0;
}
