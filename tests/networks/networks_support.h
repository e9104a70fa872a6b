/* Networks for the tests, and the inputs and results of the vectors folder. */
#ifndef TESTS_NETWORKS_SUPPORT_H
#define TESTS_NETWORKS_SUPPORT_H

#include "cmocka_headers.h"

#include "headwise-io/safetensors.h"
#include "headwise-model/transformer.h"

/* path/name, freed with the test. */
const char *networks_path(const char *folder, const char *name);

/* The folder of an environment variable; NULL: it is not set. */
const char *networks_folder(const char *variable);

/* Must open; options may be NULL. */
headwise_transformer *networks_open(headwise_context *context, const char *path,
                                    const struct headwise_transformer_options *options);
headwise_safetensors *networks_file(const char *path);

/* A tensor TAG.NAME of the file; NULL: there is none. */
const struct headwise_file_tensor *networks_find(const headwise_safetensors *file, const char *tag,
                                                 const char *name);
double *networks_doubles(const headwise_safetensors *file,
                         const struct headwise_file_tensor *tensor);

/* The sequences of TAG.input_ids, without what TAG.attention_mask hides, or the images of
 * TAG.pixel_values. */
struct networks_batch {
    const char *tag;
    int64_t n_sequences, n_columns; /* of the file's arrays [n_sequences][n_columns] */
    int64_t n_rows;
    int32_t *starts, *ids, *types; /* types may be NULL */
    int64_t *places;               /* [n_rows]: where a row is in the file's arrays */
    float *pixels;
};
struct networks_batch networks_read(const headwise_safetensors *file, const char *tag,
                                    const struct headwise_transformer_info *info);

/* The call of a batch, with nothing wanted yet. */
struct headwise_transformer_call networks_call(const struct networks_batch *batch);

/* Must run. */
void networks_forward(headwise_context *context, const headwise_transformer *network,
                      const struct headwise_transformer_call *call);

#endif
