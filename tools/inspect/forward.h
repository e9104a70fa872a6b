/* What one forward of the layer tells of its heads. */
#ifndef HEADWISE_TOOLS_INSPECT_FORWARD_H
#define HEADWISE_TOOLS_INSPECT_FORWARD_H

#include "inspect/steps.h"

/* One forward with statistics fills heads, gram and order. */
int collect_outputs(struct collecting *collecting);

#endif
