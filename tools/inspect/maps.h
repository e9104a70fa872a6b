/* The maps of one batch entry, made smaller. */
#ifndef HEADWISE_TOOLS_INSPECT_MAPS_H
#define HEADWISE_TOOLS_INSPECT_MAPS_H

#include "inspect/steps.h"

/* Goes through the maps block by block: cells, profiles, pairs, links. Wants
 * collect_similarity(). */
int collect_maps(struct collecting *collecting);

#endif
