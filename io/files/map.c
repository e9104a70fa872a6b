/* The bytes of a regular file, mapped or read. */
#define _DEFAULT_SOURCE /* madvise */
#include "files/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"

static enum headwise_status open_regular(int *fd, size_t *size_bytes, const char *path) {
    struct stat info;
    enum headwise_status status = HEADWISE_OK;
    /* O_NONBLOCK: opening a pipe that nobody writes to must not hang; it is refused below. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(*fd, &info) != 0)
        status =
            headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be examined: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = headwise_io_fail(HEADWISE_ERR_IO, "%s: is %s, expected a regular file", path,
                                  S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    else if ((uintmax_t)info.st_size > SIZE_MAX)
        status = headwise_io_fail(HEADWISE_ERR_IO, "%s: is larger than the address space", path);
    else
        *size_bytes = (size_t)info.st_size;
    if (status)
        close(*fd);
    return status;
}

enum headwise_status headwise_io_map_file(struct headwise_io_map *map, const char *path) {
    int fd;
    size_t size_bytes;
    enum headwise_status status = open_regular(&fd, &size_bytes, path);
    if (status)
        return status;
    void *bytes = MAP_FAILED;
    if (size_bytes == 0) /* mmap refuses a length of 0 */
        *map = (struct headwise_io_map){(const unsigned char *)"", 0, HEADWISE_IO_BORROWED};
    else
        bytes = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (size_bytes > 0 && bytes == MAP_FAILED)
        status =
            headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    else if (size_bytes > 0)
        *map = (struct headwise_io_map){bytes, size_bytes, HEADWISE_IO_MAPPED};
    close(fd); /* the mapping stays */
    return status;
}

enum headwise_status headwise_io_map_if_there(struct headwise_io_map *map, const char *path,
                                              bool *is_there) {
    struct stat info;
    *is_there = stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
    return *is_there ? headwise_io_map_file(map, path) : HEADWISE_OK;
}

/* Reads up to *size_bytes; sets it to what there was. */
static enum headwise_status read_all(int fd, unsigned char *bytes, size_t *size_bytes,
                                     const char *path) {
    size_t n = 0;
    while (n < *size_bytes) {
        ssize_t taken = read(fd, bytes + n, *size_bytes - n);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken < 0)
            return headwise_io_fail(HEADWISE_ERR_IO, "%s: cannot be read: %s", path,
                                    strerror(errno));
        if (taken == 0) /* it was cut meanwhile */
            break;
        n += (size_t)taken;
    }
    *size_bytes = n;
    return HEADWISE_OK;
}

enum headwise_status headwise_io_read_file(struct headwise_io_map *map, const char *path,
                                           size_t most_bytes) {
    int fd;
    size_t size_bytes;
    unsigned char *bytes = NULL;
    enum headwise_status status = open_regular(&fd, &size_bytes, path);
    if (status)
        return status;
    if (size_bytes > most_bytes)
        status = headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: has %zu bytes, expected at most %zu",
                                  path, size_bytes, most_bytes);
    if (!status && !(bytes = malloc(size_bytes > 0 ? size_bytes : 1)))
        status = headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", path);
    if (!status)
        status = read_all(fd, bytes, &size_bytes, path);
    close(fd);
    if (status)
        free(bytes);
    else
        *map = (struct headwise_io_map){bytes, size_bytes, HEADWISE_IO_OWNED};
    return status;
}

void headwise_io_map_release(const struct headwise_io_map *map, const void *begin,
                             const void *end) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)begin + page - 1) / page * page, to = (uintptr_t)end / page * page;
    if (map->owner == HEADWISE_IO_MAPPED && from < to)
        madvise((void *)from, to - from, MADV_DONTNEED); /* advice: failing changes nothing */
}

void headwise_io_unmap(struct headwise_io_map *map) {
    if (map->owner == HEADWISE_IO_MAPPED)
        munmap((void *)map->bytes, map->size_bytes);
    if (map->owner == HEADWISE_IO_OWNED)
        free((void *)map->bytes);
    *map = (struct headwise_io_map){0};
}
