/* A layer's weights and its input, from files. */
#ifndef HEADWISE_TOOLS_LAYER_INPUT_H
#define HEADWISE_TOOLS_LAYER_INPUT_H

#include "common/arena.h"
#include "headwise-io/safetensors.h"
#include "headwise/heads.h"

/* What the user says about the weights; 0 and NULL: not said. */
struct layer_request {
    int64_t n_heads;    /* metadata num_heads */
    int64_t n_kv_heads; /* metadata num_kv_heads, else as n_heads */
    int64_t head_dim;   /* width of queries / n_heads */
    enum headwise_layout layout;
    const char *prefix; /* of the weights' names */
    const char *x;      /* name of the input's tensor; X */
    const char *memory; /* name of the tensor that keys and values come from */
};

struct layer_input {
    struct headwise_mha_config config; /* its arrays live in the arena or in the mapped file */
    int rank;                          /* of X: 3, or 2 without a batch */
    int64_t batch, n_queries, n_keys;
    struct headwise_tensor x, memory;
    bool has_memory;
    const float *w_o; /* config.w_o as f32, for checks; layer_input_keep() makes it the kept one */
};

/* Reads W_Q W_K W_V W_O [b_Q b_K b_V b_O] from weights, X and the memory from input (which may be
 * the same file), and checks every shape. Returns an exit code. */
int layer_input_read(struct layer_input *layer, struct arena *arena,
                     const headwise_safetensors *weights, const headwise_safetensors *input,
                     const struct layer_request *request);

/* Sets w_o to what the layer made from config keeps. Returns an exit code. */
int layer_input_keep(struct layer_input *layer, struct arena *arena, const headwise_mha *mha);

/* The part of it that reads the tensor called x (NULL: "X") and, where memory is not NULL, the
 * memory of that name: sets rank, batch, n_queries, n_keys, x, memory and has_memory. */
int layer_input_read_rows(struct layer_input *layer, struct arena *arena,
                          const headwise_safetensors *input, const char *x, const char *memory);

#endif
