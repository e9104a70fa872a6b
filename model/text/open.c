/* Opens tokenizers out of files: tokenizer.json, vocab.txt, vocab.json with merges.txt. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "files/map.h"
#include "headwise-io/safetensors.h"
#include "text/tokenizer.h"

enum { PATH_SIZE = 4096 };

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static enum headwise_status map(struct headwise_io_map *file, const char *path) {
    enum headwise_status status = headwise_io_map_file(file, path);
    return status ? headwise_model_fail(status, "%s", headwise_io_last_error()) : HEADWISE_OK;
}

static enum headwise_status open_file(headwise_tokenizer *tokenizer, const char *path,
                                      const struct headwise_tokenizer_options *options) {
    struct headwise_io_map file;
    enum headwise_status status = map(&file, path);
    if (status)
        return status;
    if (ends_with(path, ".txt"))
        status = headwise_tokenizer_read_lines(tokenizer, (const char *)file.bytes, file.size_bytes,
                                               options && options->cased, path);
    else
        status = headwise_tokenizer_read(tokenizer, file.bytes, file.size_bytes, path);
    headwise_io_unmap(&file);
    return status;
}

static enum headwise_status open_pair(headwise_tokenizer *tokenizer, const char *vocab_path,
                                      const char *merges_path) {
    struct headwise_io_map vocab, merges;
    enum headwise_status status = map(&vocab, vocab_path);
    if (status)
        return status;
    status = map(&merges, merges_path);
    if (!status) {
        status = headwise_tokenizer_read_merges(tokenizer, (const char *)vocab.bytes,
                                                vocab.size_bytes, (const char *)merges.bytes,
                                                merges.size_bytes, vocab_path);
        headwise_io_unmap(&merges);
    }
    headwise_io_unmap(&vocab);
    return status;
}

/* Whether a file of that name is in the folder; path is set to where. */
static bool has_file(char path[PATH_SIZE], const char *folder, const char *name) {
    struct headwise_io_map file;
    int n = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_SIZE || headwise_io_map_file(&file, path))
        return false;
    headwise_io_unmap(&file);
    return true;
}

static enum headwise_status open_path(headwise_tokenizer *tokenizer, const char *path,
                                      const struct headwise_tokenizer_options *options) {
    char inner[PATH_SIZE], other[PATH_SIZE];
    struct headwise_io_map file;
    if (!headwise_io_map_file(&file, path)) {
        headwise_io_unmap(&file);
        return open_file(tokenizer, path, options);
    }
    if (has_file(inner, path, "tokenizer.json") ||
        (!(has_file(inner, path, "vocab.json") && has_file(other, path, "merges.txt")) &&
         has_file(inner, path, "vocab.txt")))
        return open_file(tokenizer, inner, options);
    if (has_file(inner, path, "vocab.json") && has_file(other, path, "merges.txt"))
        return open_pair(tokenizer, inner, other);
    enum headwise_status status = headwise_io_map_file(&file, path); /* for its error line */
    if (strstr(headwise_io_last_error(), "folder"))
        return headwise_model_fail(HEADWISE_ERR_IO,
                                   "%s: has no tokenizer.json, no vocab.json with merges.txt and "
                                   "no vocab.txt that can be read",
                                   path);
    return headwise_model_fail(status, "%s", headwise_io_last_error());
}

enum headwise_status headwise_tokenizer_open(headwise_tokenizer **tokenizer, const char *path,
                                             const struct headwise_tokenizer_options *options) {
    headwise_tokenizer *made;
    if (!tokenizer || !path)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "tokenizer_open: %s is NULL",
                                   tokenizer ? "path" : "tokenizer");
    enum headwise_status status = headwise_tokenizer_new(&made, "tokenizer_open", options);
    if (status)
        return status;
    status = open_path(made, path, options);
    if (status)
        headwise_tokenizer_destroy(made);
    else
        *tokenizer = made;
    return status;
}
