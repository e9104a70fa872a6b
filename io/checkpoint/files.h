/* The safetensors files of a model, seen as one set of tensors. */
#ifndef HEADWISE_IO_CHECKPOINT_FILES_H
#define HEADWISE_IO_CHECKPOINT_FILES_H

#include <jansson.h>

#include "headwise-io/safetensors.h"

struct headwise_io_files {
    headwise_safetensors **files;
    size_t n_files;
    json_t *names; /* tensor name -> number of its file */
    char *name;    /* the file or index, for messages */
    char *folder;  /* of the files; ends in '/', or empty */
    char *config;  /* path of the config.json in the folder; NULL: there is none */
};

/* A tensor and the file it lies in; tensor is NULL where there is none. */
struct headwise_io_tensor {
    const headwise_safetensors *file;
    const struct headwise_file_tensor *tensor;
};

/* Opens everything at path, which is a folder, an index (*.json) or one file. *files is zero at the
 * start. On failure what was opened is left for _close. */
enum headwise_status headwise_io_files_open(struct headwise_io_files *files, const char *path);

void headwise_io_files_close(struct headwise_io_files *files);

struct headwise_io_tensor headwise_io_files_find(const struct headwise_io_files *files,
                                                 const char *name);

/* The path of the file, or of the set of files where there is no tensor: for messages. */
const char *headwise_io_files_path(const struct headwise_io_files *files,
                                   const struct headwise_io_tensor *tensor);

/* head and tail one after the other; NULL, with the error text set, without memory. */
char *headwise_io_join(const char *head, const char *tail);

#endif
