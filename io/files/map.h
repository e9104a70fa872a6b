/* The bytes of a file. */
#ifndef HEADWISE_IO_MAP_H
#define HEADWISE_IO_MAP_H

#include "headwise/common.h"

struct headwise_io_map {
    const unsigned char *bytes; /* never NULL once mapped */
    size_t size_bytes;
    bool mapped; /* to be unmapped */
};

/* Maps the regular file at path. HEADWISE_ERR_IO with the error text set; *map is then unchanged.
 */
enum headwise_status headwise_io_map_file(struct headwise_io_map *map, const char *path);

void headwise_io_unmap(struct headwise_io_map *map);

#endif
