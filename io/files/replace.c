/* Writes a temporary file beside the target and renames it: a target is whole or as before. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* realpath */
#include "files/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/error.h"

static enum headwise_status fail_system(const struct headwise_io_replace *replace,
                                        const char *problem) {
    if (errno == ENOMEM)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", replace->path);
    return headwise_io_fail(HEADWISE_ERR_IO, "%s: %s: %s", replace->path, problem, strerror(errno));
}

/* A name beside the target that does not exist, opened. Not mkstemp(): that makes the file private,
 * where the user's umask should decide. */
static int open_temporary(struct headwise_io_replace *replace) {
    size_t size = strlen(replace->target) + 40;
    replace->temporary = malloc(size);
    if (!replace->temporary)
        return -1;
    for (int i = 0; i < 1000; i++) {
        snprintf(replace->temporary, size, "%s.%ld-%d.tmp", replace->target, (long)getpid(), i);
        int fd = open(replace->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static enum headwise_status open_target(struct headwise_io_replace *replace) {
    struct stat info;
    bool exists = stat(replace->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return headwise_io_fail(HEADWISE_ERR_IO, "%s: is a folder, expected a file's name",
                                replace->path);
    /* By its own name: what /dev/stdout leads to may be a pipe, which has no path. */
    bool direct = exists && !S_ISREG(info.st_mode);
    replace->target = exists && !direct ? realpath(replace->path, NULL) : strdup(replace->path);
    if (!replace->target)
        return fail_system(replace, "cannot be resolved");
    replace->fd = direct ? open(replace->target, O_WRONLY | O_CLOEXEC) : open_temporary(replace);
    if (replace->fd < 0)
        return fail_system(replace, "cannot be written");
    return HEADWISE_OK;
}

static void release(struct headwise_io_replace *replace) {
    free(replace->target);
    free(replace->temporary);
}

enum headwise_status headwise_io_replace_begin(struct headwise_io_replace *replace,
                                               const char *path) {
    *replace = (struct headwise_io_replace){.path = path, .fd = -1};
    enum headwise_status status = open_target(replace);
    if (status)
        release(replace);
    return status;
}

/* write(), but beyond the process's limit of a file's size an error alone: the signal that comes
 * with it would end the process and leave the temporary file. Only this thread's mask changes, and
 * only here. */
static ssize_t write_quietly(int fd, const void *bytes, size_t size_bytes) {
    sigset_t limit, before, pending;
    const struct timespec now = {0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    ssize_t written = write(fd, bytes, size_bytes);
    int problem = errno;
    if (written < 0 && problem == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&limit, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = problem;
    return written;
}

enum headwise_status headwise_io_replace_write(struct headwise_io_replace *replace,
                                               const void *bytes, size_t size_bytes) {
    const char *next = bytes;
    while (size_bytes > 0) {
        ssize_t written = write_quietly(replace->fd, next, size_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_system(replace, "cannot be written");
        next += written;
        size_bytes -= (size_t)written;
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_io_replace_end(struct headwise_io_replace *replace,
                                             enum headwise_status status) {
    bool temporary = replace->temporary != NULL;
    if (!status && temporary && fsync(replace->fd) != 0)
        status = fail_system(replace, "cannot be flushed to the disk");
    if (close(replace->fd) != 0 && !status)
        status = fail_system(replace, "cannot be written");
    if (!status && temporary && rename(replace->temporary, replace->target) != 0)
        status = fail_system(replace, "cannot be replaced");
    if (status && temporary)
        unlink(replace->temporary);
    release(replace);
    return status;
}
