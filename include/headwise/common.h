/* The version, status codes, element types and the error text that every call shares. */
#ifndef HEADWISE_COMMON_H
#define HEADWISE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of these headers. */
#define HEADWISE_VERSION_MAJOR 0
#define HEADWISE_VERSION_MINOR 1
#define HEADWISE_VERSION_PATCH 0
#define HEADWISE_VERSION "0.1.0"
#define HEADWISE_VERSION_NUMBER                                                                    \
    (HEADWISE_VERSION_MAJOR * 10000 + HEADWISE_VERSION_MINOR * 100 + HEADWISE_VERSION_PATCH)

#if defined(__GNUC__)
#define HEADWISE_API __attribute__((visibility("default")))
#else
#define HEADWISE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* HEADWISE_VERSION of the library that is loaded. Static storage. */
HEADWISE_API const char *headwise_version(void);

/* HEADWISE_VERSION_NUMBER of the library that is loaded: 100 for 0.1.0, 10203 for 1.2.3. */
HEADWISE_API int headwise_version_number(void);

/* What a call returns. Unless a function says otherwise, a call that does not return HEADWISE_OK
 * has written to none of its outputs (but one that was cancelled may have) and has changed none of
 * its objects: it may be repeated. */
enum headwise_status {
    HEADWISE_OK = 0,
    HEADWISE_ERR_INVALID = 1,   /* an argument is wrong; headwise_last_error() says which and why */
    HEADWISE_ERR_NO_MEMORY = 2, /* the allocator returned NULL, or a size does not fit size_t */
    HEADWISE_ERR_UNSUPPORTED = 3, /* the tier was not built in, or this processor cannot run it */
    HEADWISE_ERR_FULL = 4,        /* a cache has no room for the new keys */
    HEADWISE_ERR_FORMAT = 5,   /* a saved cache or a model file does not have the expected form */
    HEADWISE_ERR_IO = 6,       /* headwise-io: a file could not be opened, read or written */
    HEADWISE_ERR_CANCELLED = 7 /* the context's cancel_flag or cancelled() stopped the call; what
                                * its outputs hold is unspecified, caches are as they were */
};

/* The name of a status, "ok", "invalid argument", ...; never NULL, static storage. */
HEADWISE_API const char *headwise_status_name(enum headwise_status status);

/* One line, without a newline, about the last call of the calling thread that failed: what was
 * wrong, where, and what was expected ("attention: k has size 3 on its column axis, expected 64").
 * Empty ("") before the first failure; a successful call leaves the text as it is.
 * The storage belongs to the thread and is overwritten by its next failing call. */
HEADWISE_API const char *headwise_last_error(void);

/* Element types. f16 is IEEE 754 binary16, bf16 the upper half of an f32, both stored in 16 bits.
 * BOOL is one byte: 0 is false, anything else true. Arithmetic is f32 whatever the type. */
enum headwise_dtype {
    HEADWISE_F32 = 0,
    HEADWISE_F16 = 1,
    HEADWISE_BF16 = 2,
    HEADWISE_BOOL = 3,
    HEADWISE_I8 = 4 /* 8-bit integers with scales; weights and caches only */
};

/* Bytes of one element, 0 for a value that is no headwise_dtype. */
HEADWISE_API size_t headwise_dtype_size(enum headwise_dtype dtype);

/* "f32", "f16", "bf16", "bool", "i8"; "?" for a value that is no headwise_dtype. */
HEADWISE_API const char *headwise_dtype_name(enum headwise_dtype dtype);

/* Where memory comes from. alloc returns size_bytes bytes aligned to alignment (a power of two, at
 * most 4096) or NULL; release gets back what alloc returned, with the same size; it is never called
 * with NULL. Both may be called from any thread that creates, destroys or uses an object, one at a
 * time per object. Both set, or both NULL: aligned_alloc() and free(). */
struct headwise_allocator {
    void *(*alloc)(void *user, size_t size_bytes, size_t alignment);
    void (*release)(void *user, void *memory, size_t size_bytes);
    void *user;
};

#ifdef __cplusplus
}
#endif
#endif
