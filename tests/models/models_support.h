/* Models for the tests: generated checkpoints and files of the vectors folder. */
#ifndef TESTS_MODELS_SUPPORT_H
#define TESTS_MODELS_SUPPORT_H

#include "cmocka_headers.h"

#include "headwise-io/checkpoint.h"

/* The path of name in the folder that make_checkpoints.py wrote; in the vectors folder, or NULL
 * where HEADWISE_VECTORS is not set. Freed with the test. */
const char *models_checkpoint(const char *name);
const char *models_vectors(const char *name);

/* The model and layer must open; options may be NULL. The caller closes them. */
headwise_checkpoint *models_open(const char *path,
                                 const struct headwise_checkpoint_options *options);
headwise_checkpoint_layer *models_layer(headwise_checkpoint *model, headwise_context *context,
                                        const char *part, int64_t index);

/* A tensor of a file as doubles, or as guarded floats; it must be there. Sets the number of rows
 * and columns of its last two axes, where not NULL; further axes count as rows. */
double *models_doubles(const headwise_safetensors *file, const char *name, int64_t *rows,
                       int64_t *columns);
float *models_floats(const headwise_safetensors *file, const char *name, int64_t *rows,
                     int64_t *columns);

headwise_safetensors *models_file(const char *path);

/* y (guarded) of a layer for batch inputs of rows / batch rows each; memory may be NULL. given:
 * what else the call is given, or NULL; without options in it they are the layer's own. */
float *models_run(headwise_context *context, const headwise_checkpoint_layer *layer, const float *x,
                  int64_t batch, int64_t rows, const float *memory, int64_t memory_rows,
                  const struct headwise_attention_call *given);

#endif
