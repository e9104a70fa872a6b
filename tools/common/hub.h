/* Names of the Hugging Face hub whose snapshot lies on this machine. */
#ifndef HEADWISE_TOOLS_HUB_H
#define HEADWISE_TOOLS_HUB_H

#include "common/arena.h"

/* What DIR of a command means: the path itself where something is there; else, for "owner/name" or
 * "name" (of sentence-transformers where there is no owner), the snapshot that refs/main of the
 * local cache names (HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub). Nothing is
 * ever fetched. NULL, the line printed, where there is neither. */
const char *hub_find(struct arena *arena, const char *name);

#endif
