/* Building a layer from some heads of another. */
#ifndef HEADWISE_SRC_PRUNE_H
#define HEADWISE_SRC_PRUNE_H

#include "headwise/heads.h"
#include "layer/mha.h"

/* The place of the head with this number in the layer, or -1. */
int64_t headwise_mha_find_head(const headwise_mha *mha, int64_t number);

/* headwise_mha_prune() of checked arguments. */
enum headwise_status headwise_mha_prune_run(headwise_mha **pruned, headwise_context *context,
                                            const headwise_mha *mha,
                                            const struct headwise_prune_options *options);

#endif
