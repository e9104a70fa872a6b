/* A file that replaces another whole, or not at all. */
#ifndef HEADWISE_IO_REPLACE_H
#define HEADWISE_IO_REPLACE_H

#include "headwise/common.h"

struct headwise_io_replace {
    const char *path; /* as the caller knows it */
    char *target;     /* the same without symbolic links */
    char *temporary;  /* in the target's folder; NULL where target is written to directly */
    int fd;
};

/* Opens the temporary file. path must stay valid until the end. On failure, with the error text
 * set, there is nothing to end. */
enum headwise_status headwise_io_replace_begin(struct headwise_io_replace *replace,
                                               const char *path);

enum headwise_status headwise_io_replace_write(struct headwise_io_replace *replace,
                                               const void *bytes, size_t size_bytes);

/* Where status is HEADWISE_OK, flushes and renames; otherwise, and where that fails, removes the
 * temporary file. Returns status, or what went wrong here. */
enum headwise_status headwise_io_replace_end(struct headwise_io_replace *replace,
                                             enum headwise_status status);

#endif
