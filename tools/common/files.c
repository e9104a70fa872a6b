/* Compares files by what they are, not by how they are called. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "common/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"

/* The name behind the last slash. */
static const char *leaf(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Looks at the folder around path, which lives on where nothing is at path yet. */
static bool find_folder(struct stat *info, char **folder, const char *path) {
    size_t length = (size_t)(leaf(path) - path);
    *folder = strdup(length > 0 ? path : ".");
    if (!*folder)
        return false;
    if (length > 0)
        (*folder)[length] = '\0';
    return stat(*folder, info) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the folders around two paths are one. */
static bool share_folder(const char *a, const char *b) {
    struct stat folder_a, folder_b;
    char *text_a, *text_b;
    bool found_a = find_folder(&folder_a, &text_a, a), found_b = find_folder(&folder_b, &text_b, b);
    free(text_a);
    free(text_b);
    return found_a && found_b && is_same(&folder_a, &folder_b);
}

/* Whether two paths lead to one regular file, or will once it is written: terminals and pipes may
 * be used twice. */
static bool name_one_file(const char *a, const char *b) {
    struct stat info_a, info_b;
    bool exists_a = stat(a, &info_a) == 0, exists_b = stat(b, &info_b) == 0;
    if (exists_a && exists_b)
        return S_ISREG(info_a.st_mode) && is_same(&info_a, &info_b);
    return !exists_a && !exists_b && strcmp(leaf(a), leaf(b)) == 0 && share_folder(a, b);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

/* Whether path is a file of the model in this folder: its config.json, tensors or their index. */
static bool is_of_model(const char *path, const char *folder) {
    struct stat info, around;
    char *text;
    const char *name = leaf(path);
    if (stat(path, &info) != 0 || stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    bool found = find_folder(&around, &text, path) && is_same(&info, &around);
    free(text);
    return found && (strcmp(name, "config.json") == 0 || ends_with(name, ".safetensors") ||
                     ends_with(name, ".safetensors.index.json"));
}

static int check_place(const struct file_option *written) {
    struct stat info;
    char *folder;
    const char *path = written->path;
    if (!*path)
        return fail("option %s is \"\", expected a file's name", written->option);
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return fail("%s: is a folder, expected a file's name", path);
    if (exists && !S_ISREG(info.st_mode))
        return access(path, W_OK) == 0 ? EXIT_GOOD
                                       : fail("%s: cannot be written: %s", path, strerror(errno));
    bool good = find_folder(&info, &folder, path) && access(folder, W_OK | X_OK) == 0;
    int problem = errno;
    free(folder);
    return good ? EXIT_GOOD : fail("%s: cannot be written: %s", path, strerror(problem));
}

static int check_others(const struct file_option *written, const struct file_option *others,
                        size_t n_others) {
    for (size_t i = 0; i < n_others; i++) {
        const char *path = others[i].path;
        if (!path)
            continue;
        if (name_one_file(written->path, path))
            return fail("option %s is \"%s\", expected another file than that of %s",
                        written->option, written->path, others[i].option);
        if (is_of_model(written->path, path))
            return fail("option %s is \"%s\", expected a file that is not of the model of %s",
                        written->option, written->path, others[i].option);
    }
    return EXIT_GOOD;
}

int files_check(const struct file_option *written, size_t n_written, const struct file_option *read,
                size_t n_read) {
    int code = EXIT_GOOD;
    for (size_t i = 0; i < n_written && !code; i++) {
        if (!written[i].path)
            continue;
        if (*written[i].path)
            code = check_others(&written[i], written + i + 1, n_written - i - 1);
        if (!code && *written[i].path)
            code = check_others(&written[i], read, n_read);
        if (!code)
            code = check_place(&written[i]);
    }
    return code;
}

/* Whether a new folder can be made at path, which may end in slashes. */
static int check_around(const char *path) {
    struct stat info;
    char *folder = NULL, *bare = strdup(path);
    if (!bare)
        return fail("out of memory");
    for (size_t length = strlen(bare); length > 1 && bare[length - 1] == '/'; length--)
        bare[length - 1] = '\0';
    bool good = find_folder(&info, &folder, bare) && access(folder, W_OK | X_OK) == 0;
    int problem = errno;
    free(folder);
    free(bare);
    return good ? EXIT_GOOD : fail("%s: cannot be made: %s", path, strerror(problem));
}

int files_check_folder(const struct file_option *written) {
    static const char *const names[] = {"config.json", "model.safetensors",
                                        "model.safetensors.index.json"};
    struct stat info;
    const char *path = written->path;
    if (!*path)
        return fail("option %s is \"\", expected a folder's name", written->option);
    if (stat(path, &info) != 0)
        return check_around(path);
    if (!S_ISDIR(info.st_mode))
        return fail("%s: cannot be made: %s", path, strerror(EEXIST));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(path) + strlen(names[i]) + 2;
        char *file = malloc(size);
        if (!file)
            return fail("out of memory");
        snprintf(file, size, "%s%s%s", path, ends_with(path, "/") ? "" : "/", names[i]);
        bool exists = access(file, F_OK) == 0;
        int code = exists ? fail("%s: is there already, expected a folder without a model", file)
                          : EXIT_GOOD;
        free(file);
        if (code)
            return code;
    }
    return EXIT_GOOD;
}
