/* Finds out about a layer all that headwise inspect tells. */
#ifndef HEADWISE_TOOLS_COLLECT_H
#define HEADWISE_TOOLS_COLLECT_H

#include "calls/layer_options.h"
#include "inspect/findings.h"

/* Runs the layer on its input and fills everything but title and tokens. Memory: the heads'
 * queries, keys and outputs, O(queries + keys) for each head, and weights in blocks of a head's
 * rows: about 4 MB, or those of one row of cells where that is more. Returns an exit code. */
int findings_collect(struct findings *findings, struct arena *arena, struct layer_opened *opened,
                     const char *path, const struct findings_request *request);

/* The part of it that weighs heads: numbers, statistics, norms, shares, costs and the order. */
int findings_weigh(struct findings *findings, struct arena *arena, struct layer_opened *opened,
                   const char *path);

#endif
