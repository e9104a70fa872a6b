/* One block of an encoder such as BERT: attention and an MLP, each with its residual and LayerNorm.
 * It runs once for all rows and once for each sequence alone, and the bits are the same. */
#include <headwise/headwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, HIDDEN = 256, HEADS = 4, ROWS = 24, SEQUENCES = 3 };

static float w_q[WIDTH * WIDTH], w_k[WIDTH * WIDTH], w_v[WIDTH * WIDTH], w_o[WIDTH * WIDTH];
static float w_up[HIDDEN * WIDTH], w_down[WIDTH * HIDDEN], norm_1[WIDTH], norm_2[WIDTH];
static float x[ROWS * WIDTH], attended[ROWS * WIDTH], together[ROWS * WIDTH], alone[ROWS * WIDTH];

static void check(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "%s\n", headwise_last_error());
    exit(1);
}

/* n numbers of [middle - scale, middle + scale), in the place of a checkpoint's. */
static void draw(float *numbers, int n, float middle, float scale) {
    static uint32_t state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = middle + (float)((int32_t)state >> 8) * 0x1p-23f * scale;
    }
}

struct block {
    headwise_mha *attention;
    headwise_mlp *mlp;
    struct headwise_row_norm attention_norm, mlp_norm;
};

static struct block make_block(headwise_context *context) {
    const struct headwise_mha_config attention = {.size = sizeof attention,
                                                  .d_model = WIDTH,
                                                  .n_heads = HEADS,
                                                  .w_q = w_q,
                                                  .w_k = w_k,
                                                  .w_v = w_v,
                                                  .w_o = w_o};
    const struct headwise_mlp_config mlp = {.size = sizeof mlp,
                                            .d_model = WIDTH,
                                            .d_hidden = HIDDEN,
                                            .activation = HEADWISE_ACTIVATION_GELU,
                                            .w_up = w_up,
                                            .w_down = w_down};
    struct headwise_row_norm norm = {
        .size = sizeof norm, .norm = HEADWISE_NORM_LAYER, .weights = norm_1, .eps = 1e-12f};
    struct block block = {.attention_norm = norm, .mlp_norm = norm};
    block.mlp_norm.weights = norm_2;
    check(headwise_mha_create(&block.attention, context, &attention));
    check(headwise_mlp_create(&block.mlp, context, &mlp));
    return block;
}

/* rows = norm(rows + attention(rows)), then rows = norm(rows + mlp(rows)), of sequences that lie
 * one after another from starts[0] to starts[n]. */
static void run_block(headwise_context *context, const struct block *block, float *rows,
                      const int32_t *starts, int n) {
    int64_t n_rows = starts[n];
    struct headwise_tensor in = headwise_tensor_brhc(rows, HEADWISE_F32, 1, n_rows, 1, WIDTH);
    struct headwise_tensor out = headwise_tensor_brhc(attended, HEADWISE_F32, 1, n_rows, 1, WIDTH);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .x = &in, .n_sequences = n, .query_starts = starts};
    const struct headwise_rows sum = {.size = sizeof sum,
                                      .n_rows = n_rows,
                                      .n = WIDTH,
                                      .x = attended,
                                      .residual = rows,
                                      .y = rows,
                                      .norm = &block->attention_norm};
    const struct headwise_mlp_call mlp = {.size = sizeof mlp,
                                          .n_rows = n_rows,
                                          .x = rows,
                                          .residual = rows,
                                          .y = rows,
                                          .output_norm = &block->mlp_norm};
    check(headwise_mha_forward(context, block->attention, &call));
    check(headwise_normalize_rows(context, &sum));
    check(headwise_mlp_forward(context, block->mlp, &mlp));
}

int main(void) {
    const int32_t starts[SEQUENCES + 1] = {0, 5, 6, ROWS};
    headwise_context *context;
    check(headwise_context_create(&context, NULL));
    draw(x, ROWS * WIDTH, 0, 1);
    float *matrices[] = {w_q, w_k, w_v, w_o};
    for (int i = 0; i < 4; i++)
        draw(matrices[i], WIDTH * WIDTH, 0, 0.2f);
    draw(w_up, HIDDEN * WIDTH, 0, 0.2f);
    draw(w_down, WIDTH * HIDDEN, 0, 0.1f);
    draw(norm_1, WIDTH, 1, 0.1f);
    draw(norm_2, WIDTH, 1, 0.1f);

    struct block block = make_block(context);
    memcpy(together, x, sizeof x);
    memcpy(alone, x, sizeof x);
    run_block(context, &block, together, starts, SEQUENCES);
    for (int i = 0; i < SEQUENCES; i++) {
        const int32_t one[2] = {0, starts[i + 1] - starts[i]};
        run_block(context, &block, alone + starts[i] * WIDTH, one, 1);
    }
    bool same = memcmp(together, alone, sizeof alone) == 0;
    printf("%d sequences, %d rows: together and alone the bits are %s\n", SEQUENCES, ROWS,
           same ? "the same" : "not the same");
    headwise_mlp_destroy(block.mlp);
    headwise_mha_destroy(block.attention);
    headwise_context_destroy(context);
    return same ? 0 : 1;
}
