/* A plain layer without some heads, as a file. */
#ifndef HEADWISE_TOOLS_PRUNE_LAYER_H
#define HEADWISE_TOOLS_PRUNE_LAYER_H

#include "calls/layer_options.h"
#include "headwise/heads.h"

/* Writes W_Q W_K W_V W_O b_Q b_K b_V b_O as y = x W, in the weights' type, to path, with num_heads,
 * num_kv_heads, head_numbers, group_sizes and pruned_heads in the metadata: what --weights reads.
 * Returns an exit code. */
int prune_layer_write(const char *path, struct arena *arena, const struct layer_opened *opened,
                      const char *weights_path, const struct headwise_prune_options *options);

#endif
