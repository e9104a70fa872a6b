/* The bytes of a file. */
#ifndef HEADWISE_IO_MAP_H
#define HEADWISE_IO_MAP_H

#include "headwise/common.h"

struct headwise_io_map {
    const unsigned char *bytes; /* never NULL once filled */
    size_t size_bytes;
    enum headwise_io_owner {
        HEADWISE_IO_BORROWED = 0,
        HEADWISE_IO_MAPPED, /* to be unmapped */
        HEADWISE_IO_OWNED   /* to be freed */
    } owner;
};

/* Maps the regular file at path. HEADWISE_ERR_IO with the error text set; *map is then unchanged.
 */
enum headwise_status headwise_io_map_file(struct headwise_io_map *map, const char *path);

/* As headwise_io_map_file(), but that there is no such file is no error: *is_there is false then,
 * and *map unchanged. */
enum headwise_status headwise_io_map_if_there(struct headwise_io_map *map, const char *path,
                                              bool *is_there);

/* Reads it into memory instead, so that nothing that happens to the file later matters. Also
 * HEADWISE_ERR_FORMAT where it has more than most_bytes, and HEADWISE_ERR_NO_MEMORY. */
enum headwise_status headwise_io_read_file(struct headwise_io_map *map, const char *path,
                                           size_t most_bytes);

/* Gives back the memory of mapped pages between two places; they are read again when they are
 * needed. */
void headwise_io_map_release(const struct headwise_io_map *map, const void *begin, const void *end);

void headwise_io_unmap(struct headwise_io_map *map);

#endif
