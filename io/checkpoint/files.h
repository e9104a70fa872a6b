/* The safetensors files of a checkpoint, seen as one set of tensors. */
#ifndef HEADWISE_IO_CHECKPOINT_FILES_H
#define HEADWISE_IO_CHECKPOINT_FILES_H

#include "safetensors/header.h"

/* Where an index, or a shard, says that a tensor is. */
struct headwise_io_located {
    const char *name;  /* first: names looks it up */
    const char *shard; /* as the index says; NULL: the index does not name it */
    int32_t file;      /* number of the file that has it; -1: none */
    int32_t other;     /* number of another file that has it too; -1: none */
    bool is_disputed;  /* the index has it twice, in different shards */
    bool is_misplaced; /* a file has it, but not the shard */
};

struct headwise_io_files {
    headwise_safetensors **files;
    size_t n_files;
    bool copied;  /* files are read, not mapped */
    char *name;   /* the file or index, for messages */
    char *folder; /* of the files; ends in '/', or empty */
    char *config; /* path of the config.json in the folder; NULL: there is none */

    /* Names in front of those that a family knows, as wrappers of training scripts leave them:
     * "module.", ...; mostly empty. _find and _at work behind it. */
    char prefix[96];

    /* Of an index; NULL for a single file, whose own names serve. */
    struct headwise_io_located *located;
    size_t n_located, n_located_room;
    struct headwise_io_names names;
    struct headwise_io_arena texts;
};

/* A tensor and the file it lies in. */
struct headwise_io_tensor {
    const headwise_safetensors *file;
    const struct headwise_file_tensor *tensor; /* NULL where it cannot be used */
    bool is_there;                             /* the files, or their index, know the name */
};

/* locate.c: opens everything at path, which is a folder, an index (*.json) or one file. *files is
 * zero at the start, but for copied. On failure what was opened is left for _close. */
enum headwise_status headwise_io_files_open(struct headwise_io_files *files, const char *path);

void headwise_io_files_close(struct headwise_io_files *files);

/* index.c: opens the shards of an index. */
enum headwise_status headwise_io_files_open_index(struct headwise_io_files *files);

/* Opens a file of the folder. */
enum headwise_status headwise_io_files_add(struct headwise_io_files *files, const char *name);

/* The name of file number file in the folder. */
const char *headwise_io_files_shard(const struct headwise_io_files *files, int32_t file);

/* Names that the files know: their number; number index behind the prefix, NULL where it has
 * another one. */
size_t headwise_io_files_count(const struct headwise_io_files *files);
const char *headwise_io_files_at(const struct headwise_io_files *files, size_t index);

struct headwise_io_tensor headwise_io_files_find(const struct headwise_io_files *files,
                                                 const char *name);

/* Fails with why a tensor that is there, or is not, cannot be used. */
enum headwise_status headwise_io_files_fail(const struct headwise_io_files *files,
                                            const char *name);

/* HEADWISE_OK where every tensor and text of the files can be used, so that they can be copied. */
enum headwise_status headwise_io_files_require_all(const struct headwise_io_files *files);

/* Sets prefix to the next one, after *at names, that some name has and that was not tried yet;
 * false: none. */
bool headwise_io_files_next_prefix(struct headwise_io_files *files, size_t *at);

/* The path of the file, or of the set of files where there is no tensor: for messages. */
const char *headwise_io_files_path(const struct headwise_io_files *files,
                                   const struct headwise_io_tensor *tensor);

/* head and tail one after the other; NULL, with the error text set, without memory. */
char *headwise_io_join(const char *head, const char *tail);

#endif
