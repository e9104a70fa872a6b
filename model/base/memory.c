/* Takes memory from the caller's allocator and lets arrays grow in it. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ALIGNMENT = 16 }; /* of any object that is kept here */

static void *take_default(void *user, size_t size_bytes, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, size_bytes);
}

static void give_default(void *user, void *memory, size_t size_bytes) {
    (void)user;
    (void)size_bytes;
    free(memory);
}

enum headwise_status headwise_memory_set(struct headwise_allocator *memory, const char *where,
                                         const struct headwise_allocator *allocator) {
    if (allocator && !allocator->alloc != !allocator->release)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: allocator has one function of two, expected both or none",
                                   where);
    if (allocator && allocator->alloc)
        *memory = *allocator;
    else
        *memory = (struct headwise_allocator){take_default, give_default, NULL};
    return HEADWISE_OK;
}

/* Rounded up, since aligned_alloc() wants multiples of the alignment; 0 where it does not fit. */
static size_t whole_size(size_t count, size_t item_bytes) {
    if (item_bytes == 0 || count > (SIZE_MAX - ALIGNMENT) / item_bytes)
        return 0;
    return (count * item_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *headwise_memory_take(const struct headwise_allocator *memory, size_t count,
                           size_t item_bytes) {
    size_t size = whole_size(count, item_bytes);
    return size == 0 ? NULL : memory->alloc(memory->user, size, ALIGNMENT);
}

void headwise_memory_give(const struct headwise_allocator *memory, void *items, size_t count,
                          size_t item_bytes) {
    if (items)
        memory->release(memory->user, items, whole_size(count, item_bytes));
}

bool headwise_memory_grow(const struct headwise_allocator *memory, void *items, size_t *capacity,
                          size_t needed, size_t item_bytes) {
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity + *capacity / 2 + 16;
    if (larger < needed)
        larger = needed;
    void *before, *after = headwise_memory_take(memory, larger, item_bytes);
    if (!after)
        return false;
    memcpy(&before, items, sizeof before);
    if (before)
        memcpy(after, before, *capacity * item_bytes);
    headwise_memory_give(memory, before, *capacity, item_bytes);
    memcpy(items, &after, sizeof after);
    *capacity = larger;
    return true;
}

bool headwise_bytes_reserve(const struct headwise_allocator *memory, struct headwise_bytes *bytes,
                            size_t more) {
    if (more > SIZE_MAX - bytes->size)
        return false;
    return headwise_memory_grow(memory, &bytes->at, &bytes->capacity, bytes->size + more, 1);
}

bool headwise_bytes_append(const struct headwise_allocator *memory, struct headwise_bytes *bytes,
                           const char *from, size_t size) {
    if (!headwise_bytes_reserve(memory, bytes, size))
        return false;
    if (size > 0)
        memcpy(bytes->at + bytes->size, from, size);
    bytes->size += size;
    return true;
}

void headwise_bytes_free(const struct headwise_allocator *memory, struct headwise_bytes *bytes) {
    headwise_memory_give(memory, bytes->at, bytes->capacity, 1);
    *bytes = (struct headwise_bytes){0};
}
