/* The files that a command is about to write, looked at before the work. */
#ifndef HEADWISE_TOOLS_FILES_H
#define HEADWISE_TOOLS_FILES_H

#include <stddef.h>

/* A file that an option names. */
struct file_option {
    const char *option; /* "--weights", or "the input" */
    const char *path;   /* NULL: not given */
};

/* Fails with a line where a path to be written is empty, is a folder, lies in a folder that is not
 * there or takes no file, or names what another option's file is: one that is written too, one that
 * is read, or a file of a model whose folder is read. What is read need not be there: then opening
 * it fails with a line of its own. Returns an exit code. */
int files_check(const struct file_option *written, size_t n_written, const struct file_option *read,
                size_t n_read);

/* Fails where no folder can be made at path or filled there: an empty path, a file, no folder
 * around it, a model in it already. Returns an exit code. */
int files_check_folder(const struct file_option *written);

#endif
