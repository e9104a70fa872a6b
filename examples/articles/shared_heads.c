/* Article 000: query heads that share keys and values (one pair for all, one for each group), and
 * layers that keep only some heads. */
#include <stdio.h>
#include <string.h>

#include "support/layer.h"
#include "support/random.h"
#include "support/report.h"

enum { HEADS = 8, DIM = 8, WIDTH = 64, ROWS = 12 };

static struct layer layers[4], repeated;
static struct seen shared, full, pruned;

/* default_rng(21), standard deviation 0.15: W_Q and W_O for all, then W_K and W_V with 1, 2, 4
 * heads. The one with 8 repeats the 4. */
static void build(void) {
    static const int64_t kv_heads[] = {1, 2, 4, 8};
    struct default_rng rng;
    struct layer *first = &layers[0];
    *first = (struct layer){.rows = ROWS, .width = WIDTH, .heads = HEADS, .dim = DIM};
    default_seed(&rng, 21);
    default_fill(&rng, first->x, ROWS * WIDTH, 1);
    default_fill(&rng, first->w_q, WIDTH * WIDTH, 0.15);
    default_fill(&rng, first->w_o, WIDTH * WIDTH, 0.15);
    for (int i = 0; i < 4; i++) {
        layers[i] = layers[0];
        layers[i].kv_heads = kv_heads[i];
        default_fill(&rng, layers[i].w_k, WIDTH * kv_heads[i] * DIM, 0.15);
        default_fill(&rng, layers[i].w_v, WIDTH * kv_heads[i] * DIM, 0.15);
    }
}

/* Fills `repeated`, which computes as layer does with keys and values for each query head. */
static void repeat(const struct layer *layer) {
    int64_t group = HEADS / layer->kv_heads, columns = layer->kv_heads * DIM;
    repeated = *layer;
    repeated.kv_heads = HEADS;
    for (int64_t i = 0; i < WIDTH * WIDTH; i++) {
        int64_t head = i % WIDTH / DIM;
        int64_t from = i / WIDTH * columns + head / group * DIM + i % DIM;
        repeated.w_k[i] = layer->w_k[from];
        repeated.w_v[i] = layer->w_v[from];
    }
}

/* A layer that keeps heads 0, 3 and 5 against the whole one with gates. */
static bool selected_equal(headwise_context *context, const headwise_mha *mha) {
    static const int64_t dropped[] = {1, 2, 4, 6, 7};
    static const float gates[HEADS] = {1, 0, 0, 1, 0, 1, 0, 0};
    const struct headwise_prune_options options = {
        .size = sizeof options, .heads = dropped, .n_heads = 5};
    headwise_mha *small = NULL;
    must(headwise_mha_prune(&small, context, mha, &options));
    layer_run(context, mha, &layers[3], gates, &full);
    layer_run(context, small, &layers[3], NULL, &pruned);
    printf("\nkept heads:");
    for (int64_t i = 0; i < headwise_mha_describe(small)->n_heads; i++)
        printf(" %d", (int)headwise_mha_describe(small)->head_numbers[i]);
    printf(" of %d\n", HEADS);
    headwise_mha_destroy(small);
    return memcmp(full.y, pruned.y, ROWS * WIDTH * sizeof(float)) == 0;
}

int main(void) {
    static const char *const names[] = {"one for all (MQA)", "two groups (GQA)",
                                        "four groups (GQA)", "each its own (MHA)"};
    headwise_context *context = open_context();
    bool same[4], is_selected_equal = false;
    build();
    printf("%-20s %8s %12s %20s\n", "keys and values", "kv heads", "parameters",
           "cache, floats/token");
    for (int i = 0; i < 4; i++) {
        headwise_mha *mha = layer_create(context, &layers[i]);
        int64_t kv = headwise_mha_describe(mha)->n_kv_heads * headwise_mha_describe(mha)->head_dim;
        int64_t parameters = 2 * WIDTH * WIDTH + 2 * WIDTH * kv;
        printf("%-20s %8d %12d %20d\n", names[i], (int)headwise_mha_describe(mha)->n_kv_heads,
               (int)parameters, (int)(2 * kv));
        layer_run(context, mha, &layers[i], NULL, &shared);
        repeat(&layers[i]);
        layer_see(context, &repeated, &full);
        same[i] = memcmp(shared.y, full.y, ROWS * WIDTH * sizeof(float)) == 0;
        if (i == 3)
            is_selected_equal = selected_equal(context, mha);
        headwise_mha_destroy(mha);
    }
    claim("shared = copies of the shared matrices", "equal",
          same[0] && same[1] && same[2] ? "the same bits" : "different",
          same[0] && same[1] && same[2]);
    claim("only some heads = the others switched off", "equal",
          is_selected_equal ? "the same bits" : "different", is_selected_equal);
    headwise_context_destroy(context);
    return 0;
}
