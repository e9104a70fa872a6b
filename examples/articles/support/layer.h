/* The small layers of the articles: x, four matrices, no mask, no biases. */
#ifndef ARTICLES_LAYER_H
#define ARTICLES_LAYER_H

#include <headwise/headwise.h>

enum { MOST_ROWS = 17, MOST_WIDTH = 64, MOST_HEADS = 64 };

/* Large: keep it static. x [rows][width]; W_Q [width][heads * dim], W_K and W_V
 * [width][kv_heads * dim], W_O [heads * dim][width], one row after the other, y = x W. */
struct layer {
    int64_t rows, width, heads, kv_heads, dim;
    float x[MOST_ROWS * MOST_WIDTH];
    float w_q[MOST_WIDTH * MOST_WIDTH], w_k[MOST_WIDTH * MOST_WIDTH];
    float w_v[MOST_WIDTH * MOST_WIDTH], w_o[MOST_WIDTH * MOST_WIDTH];
};

/* What a run shows, contiguous: y [rows][width], weights and scores [heads][rows][rows],
 * head_outputs [heads][rows][dim], contributions [heads][rows][width]. Large: keep it static. */
struct seen {
    float y[MOST_ROWS * MOST_WIDTH];
    float weights[MOST_HEADS * MOST_ROWS * MOST_ROWS], scores[MOST_HEADS * MOST_ROWS * MOST_ROWS];
    float head_outputs[MOST_ROWS * MOST_WIDTH];
    float contributions[MOST_HEADS * MOST_ROWS * MOST_WIDTH];
};

/* The library's layer of these matrices. headwise_mha_destroy() it. */
headwise_mha *layer_create(headwise_context *context, const struct layer *layer);

/* Runs it on layer->x with every probe. gates: one factor per head, or NULL. */
void layer_run(headwise_context *context, const headwise_mha *mha, const struct layer *layer,
               const float *gates, struct seen *seen);

/* Creates, runs and destroys it. */
void layer_see(headwise_context *context, const struct layer *layer, struct seen *seen);

/* How alike the heads' maps are: correlation [heads][heads], off the diagonal of the maps. */
void layer_correlation(headwise_context *context, const headwise_mha *mha,
                       const struct layer *layer, double *correlation);

/* The layer of article 004: default_rng(0), 12 tokens, width 64, standard normal x, matrices with
 * standard deviation 0.05, read as that many heads. */
void layer_of_004(struct layer *layer, int64_t heads);

/* Splits a sentence at its spaces, in place: tokens[i], and ids[i], the number of its first
 * occurrence among the different tokens. Returns the number of tokens, at most MOST_ROWS. */
int64_t split_sentence(char *sentence, const char *tokens[MOST_ROWS], int64_t ids[MOST_ROWS]);

/* One random row of x for each different token, in the order of first occurrence, by
 * numpy.random.seed(seed) and normal(0, sd). */
void embed_words(float *x, int64_t width, const int64_t *ids, int64_t n, uint32_t seed, double sd);

/* Of row i of a map with n columns: the key with the largest weight, the first of equals, other
 * than i itself where others_only. */
int64_t strongest_key(const float *map, int64_t i, int64_t n, bool others_only);

#endif
