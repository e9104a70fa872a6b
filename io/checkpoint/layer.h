/* A layer made from a model. */
#ifndef HEADWISE_IO_CHECKPOINT_LAYER_H
#define HEADWISE_IO_CHECKPOINT_LAYER_H

#include "checkpoint/internal.h"

/* Most tensors of a layer: four matrices and biases, four of norms, sinks, a table of biases. */
enum { HEADWISE_IO_LAYER_TENSORS = 16 };

struct headwise_checkpoint_layer {
    headwise_mha *mha; /* NULL: not packed */
    struct headwise_mha_config config;
    struct headwise_io_weights weights; /* what config points to until it is packed */
    struct headwise_attention_options options;
    struct headwise_io_heads heads; /* what config points to */
    bool is_cross;
    float *sinks, *slopes, *relative; /* what options points to */
    headwise_io_tables *tables;       /* what mha points to: held */
    const char *names[HEADWISE_IO_LAYER_TENSORS];
    size_t n_names;
};

/* contents.c: notes that the layer was made from the tensor, where there is one. */
void headwise_io_layer_uses(struct headwise_checkpoint_layer *layer,
                            const struct headwise_io_plan *plan,
                            const struct headwise_io_tensor *tensor);

/* options.c: scale, softcap, causal mask and window into options; sets plan->sliding. */
enum headwise_status headwise_io_plan_options(struct headwise_io_plan *plan,
                                              struct headwise_attention_options *options);

/* biases.c: whether the layer has ALiBi. */
enum headwise_status headwise_io_plan_has_alibi(const struct headwise_io_plan *plan, bool *alibi);

/* biases.c: sinks, ALiBi slopes, T5's table into the layer and its options, whose scale is
 * set. */
enum headwise_status headwise_io_plan_biases(const struct headwise_io_plan *plan,
                                             struct headwise_checkpoint_layer *layer);

#endif
