/* Option structs begin with their size and grow only at the end. */
#ifndef HEADWISE_OPTIONS_H
#define HEADWISE_OPTIONS_H

#include <string.h>

#include "base/error.h"

/* No struct is longer: a size beyond it is no struct's, and what is behind it is not read. */
enum { HEADWISE_MOST_OPTIONS = 4096 };

/* Whether the caller's struct, of a newer version and longer, asks for nothing that this one lacks.
 */
static inline bool headwise_tail_is_zero(const void *src, size_t known, size_t size) {
    const unsigned char *bytes = src;
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

/* Copies the caller's struct into dst of dst_size bytes. src NULL: all zero. HEADWISE_ERR_INVALID
 * for a size that no version has had, which so far is any but dst_size, and for a longer struct of
 * a newer version in which a byte beyond dst_size is set; name begins the error text. A version
 * that adds fields takes the sizes of those before it too, and leaves what they lack zero. */
static inline enum headwise_status headwise_copy_options(void *dst, size_t dst_size,
                                                         const void *src, const char *name) {
    size_t size = 0;
    memset(dst, 0, dst_size);
    if (!src)
        return HEADWISE_OK;
    memcpy(&size, src, sizeof size);
    if (size < dst_size || size > HEADWISE_MOST_OPTIONS)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: size is %zu, expected %zu (sizeof the struct)", name, size,
                             dst_size);
    if (!headwise_tail_is_zero(src, dst_size, size))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: size is %zu with fields set beyond byte %zu, expected zeros: "
                             "this version does not know them",
                             name, size, dst_size);
    memcpy(dst, src, dst_size);
    return HEADWISE_OK;
}

#define HEADWISE_COPY_OPTIONS(dst, src, name)                                                      \
    headwise_copy_options((dst), sizeof *(dst), (src), (name))

#endif
