/* Numbers of a layer's heads in the metadata of its file. */
#ifndef HEADWISE_TOOLS_METADATA_H
#define HEADWISE_TOOLS_METADATA_H

#include "common/arena.h"
#include "headwise-io/safetensors.h"

/* Sets *heads to what the user gave by this option, else, where given is 0, to the file's metadata
 * of this key; 0 where it has none. Returns an exit code. */
int metadata_read_heads(int64_t *heads, const headwise_safetensors *file, int64_t given,
                        const char *key, const char *option);

/* Reads n integers with commas between them, as a pruned layer has them; *list stays as it is where
 * the file has none of this key. Returns an exit code. */
int metadata_read_list(const int64_t **list, struct arena *arena, const headwise_safetensors *file,
                       const char *key, int64_t n);

#endif
