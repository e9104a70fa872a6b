/* From a path to the files of a checkpoint. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/files.h"
#include "files/error.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

static bool ends_with(const char *text, const char *end) {
    size_t n_text = strlen(text), n_end = strlen(end);
    return n_text >= n_end && strcmp(text + n_text - n_end, end) == 0;
}

/* Sets *name to the folder's index, which also counts where a single file lies beside it, or file.
 */
static enum headwise_status choose(struct headwise_io_files *files, const char *folder,
                                   const char **name) {
    static const char *const names[] = {INDEX, SINGLE};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = headwise_io_join(files->folder, names[i]);
        bool exists = path && access(path, F_OK) == 0;
        free(path);
        if (!path)
            return HEADWISE_ERR_NO_MEMORY;
        if (exists) {
            *name = names[i];
            return HEADWISE_OK;
        }
    }
    return headwise_io_fail(HEADWISE_ERR_IO, "%s: has neither " SINGLE " nor " INDEX, folder);
}

/* Sets folder, name and config. */
static enum headwise_status locate(struct headwise_io_files *files, const char *path,
                                   bool is_folder) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    enum headwise_status status = HEADWISE_OK;
    if (is_folder) {
        files->folder = headwise_io_join(path, *path && !ends_with(path, "/") ? "/" : "");
        status = files->folder ? choose(files, path, &name) : HEADWISE_ERR_NO_MEMORY;
    } else {
        files->folder = headwise_io_join("", path);
        if (files->folder)
            files->folder[name - path] = '\0';
    }
    if (!status && files->folder) {
        files->name = headwise_io_join(files->folder, name);
        files->config = files->name ? headwise_io_join(files->folder, "config.json") : NULL;
    }
    if (!status && !files->config)
        status = HEADWISE_ERR_NO_MEMORY;
    if (!status && access(files->config, F_OK) != 0) {
        free(files->config);
        files->config = NULL;
    }
    return status;
}

enum headwise_status headwise_io_files_open(struct headwise_io_files *files, const char *path) {
    struct stat info;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    enum headwise_status status = locate(files, path, is_folder);
    if (status)
        return status;
    return ends_with(files->name, ".json")
               ? headwise_io_files_open_index(files)
               : headwise_io_files_add(files, files->name + strlen(files->folder));
}
