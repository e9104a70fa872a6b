/* Writing any file whole. */
#ifndef HEADWISE_IO_FILE_H
#define HEADWISE_IO_FILE_H

#include <headwise/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* size_bytes bytes at data, which may be NULL where there are none. */
struct headwise_file_part {
    const void *data;
    size_t size_bytes;
};

/* Writes these parts one after the other to the file at path, as headwise_safetensors_write() does:
 * under a temporary name in the same folder, flushed to the disk, then renamed, so that path names
 * either what it named before or the whole new file. A symbolic link is followed; something that
 * exists and is no regular file is written to directly.
 * HEADWISE_ERR_INVALID: path or parts is NULL (parts may be where n_parts is 0), or a part's data
 * is NULL and its size not 0; nothing was written. HEADWISE_ERR_IO: no file could be made, written
 * or renamed; nothing is left behind. HEADWISE_ERR_NO_MEMORY. headwise_io_last_error() names the
 * path and the problem. Any number of threads may write different files. */
HEADWISE_API enum headwise_status
headwise_file_write(const char *path, const struct headwise_file_part *parts, size_t n_parts);

#ifdef __cplusplus
}
#endif
#endif
