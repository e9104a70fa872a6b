/* Memory from the caller's allocator: checked products of sizes, arrays that grow. */
#ifndef HEADWISE_MODEL_MEMORY_H
#define HEADWISE_MODEL_MEMORY_H

#include "headwise/common.h"

/* Copies the caller's allocator, or the default one where it is NULL. HEADWISE_ERR_INVALID: one of
 * its two functions is NULL and the other is not. */
enum headwise_status headwise_memory_set(struct headwise_allocator *memory, const char *where,
                                         const struct headwise_allocator *allocator);

/* count items of item_bytes; NULL: no memory, or the size does not fit, or is 0. Not cleared. */
void *headwise_memory_take(const struct headwise_allocator *memory, size_t count,
                           size_t item_bytes);

/* Gives back what was taken with the same two numbers; NULL is allowed. */
void headwise_memory_give(const struct headwise_allocator *memory, void *items, size_t count,
                          size_t item_bytes);

/* Lets the array at *items, which has room for *capacity items, hold at least needed of them, by
 * half as many again at least; items is the address of a pointer of any object type. What it holds
 * stays. False: no memory; the array is as before. */
bool headwise_memory_grow(const struct headwise_allocator *memory, void *items, size_t *capacity,
                          size_t needed, size_t item_bytes);

/* Bytes that are appended to. */
struct headwise_bytes {
    char *at;
    size_t size, capacity;
};

bool headwise_bytes_reserve(const struct headwise_allocator *memory, struct headwise_bytes *bytes,
                            size_t more);
bool headwise_bytes_append(const struct headwise_allocator *memory, struct headwise_bytes *bytes,
                           const char *from, size_t size);
void headwise_bytes_free(const struct headwise_allocator *memory, struct headwise_bytes *bytes);

#endif
