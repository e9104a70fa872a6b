/* Option structs begin with their size and grow only at the end. */
#ifndef HEADWISE_OPTIONS_H
#define HEADWISE_OPTIONS_H

#include <string.h>

#include "base/error.h"

/* Copies the caller's struct into dst of dst_size bytes, zeros for what an older caller's struct
 * does not have. src NULL: all zero. HEADWISE_ERR_INVALID for a size of 0, below that of the size
 * field, or above dst_size; name begins the error text. */
static inline enum headwise_status headwise_copy_options(void *dst, size_t dst_size,
                                                         const void *src, const char *name) {
    size_t size = 0;
    memset(dst, 0, dst_size);
    if (!src)
        return HEADWISE_OK;
    memcpy(&size, src, sizeof size);
    if (size < sizeof size || size > dst_size)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: size is %zu, expected %zu (sizeof the struct)", name, size,
                             dst_size);
    memcpy(dst, src, size);
    return HEADWISE_OK;
}

#define HEADWISE_COPY_OPTIONS(dst, src, name)                                                      \
    headwise_copy_options((dst), sizeof *(dst), (src), (name))

#endif
