/* Writing any file whole. */
#include "headwise-io/file.h"

#include "files/error.h"
#include "files/replace.h"

enum headwise_status headwise_file_write(const char *path, const struct headwise_file_part *parts,
                                         size_t n_parts) {
    enum headwise_status status = headwise_io_need("file_write", "path", path);
    if (!status && n_parts > 0)
        status = headwise_io_need("file_write", "parts", parts);
    for (size_t i = 0; !status && i < n_parts; i++) {
        if (!parts[i].data && parts[i].size_bytes > 0)
            return headwise_io_fail(HEADWISE_ERR_INVALID, "%s: the data of part %zu is NULL", path,
                                    i);
    }
    if (status)
        return status;
    struct headwise_io_replace replace;
    status = headwise_io_replace_begin(&replace, path);
    if (status)
        return status;
    for (size_t i = 0; !status && i < n_parts; i++)
        status = headwise_io_replace_write(&replace, parts[i].data, parts[i].size_bytes);
    return headwise_io_replace_end(&replace, status);
}
