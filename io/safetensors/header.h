/* The inside of an open file, and the check of its header. */
#ifndef HEADWISE_IO_HEADER_H
#define HEADWISE_IO_HEADER_H

#include <jansson.h>

#include "files/map.h"
#include "headwise-io/safetensors.h"

struct headwise_safetensors {
    char *path;
    struct headwise_io_map map;
    json_t *root; /* owns all names and texts below */
    struct headwise_file_tensor *tensors;
    size_t n_tensors;
    struct headwise_file_metadata *metadata;
    size_t n_metadata;
};

/* Fills root, tensors and metadata of a file whose path and map are set. On failure the error text
 * is set; what was allocated is left for headwise_safetensors_close(). */
enum headwise_status headwise_io_parse_header(struct headwise_safetensors *file);

#endif
