#define _POSIX_C_SOURCE 200809L
#include "files/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"

static enum headwise_status map_descriptor(struct headwise_io_map *map, int fd, const char *path) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be examined: %s", path,
                                strerror(errno));
    if (!S_ISREG(info.st_mode))
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: is %s, expected a regular file", path,
                                S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    if (info.st_size == 0) { /* mmap refuses a length of 0 */
        *map = (struct headwise_io_map){(const unsigned char *)"", 0, false};
        return HEADWISE_OK;
    }
    if ((uintmax_t)info.st_size > SIZE_MAX)
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: is larger than the address space", path);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    *map = (struct headwise_io_map){bytes, (size_t)info.st_size, true};
    return HEADWISE_OK;
}

enum headwise_status headwise_io_map_file(struct headwise_io_map *map, const char *path) {
    /* O_NONBLOCK: opening a pipe that nobody writes to must not hang; it is refused below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum headwise_status status = map_descriptor(map, fd, path);
    close(fd); /* the mapping stays */
    return status;
}

void headwise_io_unmap(struct headwise_io_map *map) {
    if (map->mapped)
        munmap((void *)map->bytes, map->size_bytes);
    *map = (struct headwise_io_map){0};
}
