/* A call for a small network, with everything it gives. */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "headwise-model/transformer.h"

/* Of small networks. */
enum { MOST_HEADS = 4, MOST_LAYERS = 3 };

/* Inputs and outputs of all sequences. */
struct scene {
    const headwise_transformer *network;
    const struct headwise_transformer_info *info;
    struct headwise_transformer_call call;
    int64_t rows;
    size_t n_last, n_hidden, n_pooled, n_logits;
};

/* Inputs that are equal on every machine, and outputs for all that the network has. */
struct scene scene_make(const headwise_transformer *network);

/* New guarded outputs. */
void scene_outputs(struct scene *scene);

#endif
