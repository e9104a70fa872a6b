/* What a command writes: named arrays and metadata, collected before the file is touched. */
#ifndef HEADWISE_TOOLS_OUTPUTS_H
#define HEADWISE_TOOLS_OUTPUTS_H

#include "common/arena.h"
#include "headwise-io/safetensors.h"
#include "headwise/context.h"

enum { MAX_OUTPUTS = 400 }; /* states and maps of 190 layers */

struct outputs {
    struct arena *arena;
    struct headwise_file_tensor tensors[MAX_OUTPUTS];
    size_t n_tensors;
};

/* Adds an array of these sizes, zeroed, and returns its data; NULL, the line printed, where memory
 * runs out. */
void *outputs_add(struct outputs *outputs, const char *name, enum headwise_file_dtype dtype,
                  int rank, const int64_t *sizes);

/* The one called name, NULL where there is none. */
const struct headwise_file_tensor *outputs_find(const struct outputs *outputs, const char *name);

/* Writes all, with metadata op, isa, threads, headwise (the version) and outputs (the names).
 * Returns an exit code. */
int outputs_write(const struct outputs *outputs, const char *path, const char *op,
                  const headwise_context *context);

#endif
