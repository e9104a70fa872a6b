/* How alike the maps of heads are, and how many directions each head uses. */
#ifndef HEADWISE_TOOLS_INSPECT_SIMILARITY_H
#define HEADWISE_TOOLS_INSPECT_SIMILARITY_H

#include "inspect/steps.h"

/* Finds queries and keys, correlation of the maps, ranks. Wants collect_outputs(). */
int collect_similarity(struct collecting *collecting);

#endif
