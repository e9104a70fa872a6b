#include "alloc.h"

#include <stdlib.h>

void *headwise_alloc(const struct headwise_allocator *allocator, size_t size_bytes) {
    if (size_bytes == 0 || size_bytes > SIZE_MAX - HEADWISE_ALIGNMENT)
        return NULL;
    if (allocator->alloc)
        return allocator->alloc(allocator->user, size_bytes, HEADWISE_ALIGNMENT);
    /* aligned_alloc wants a multiple of the alignment. */
    size_t rounded =
        (size_bytes + HEADWISE_ALIGNMENT - 1) / HEADWISE_ALIGNMENT * HEADWISE_ALIGNMENT;
    return aligned_alloc(HEADWISE_ALIGNMENT, rounded);
}

void headwise_release(const struct headwise_allocator *allocator, void *memory, size_t size_bytes) {
    if (!memory)
        return;
    if (allocator->release)
        allocator->release(allocator->user, memory, size_bytes);
    else
        free(memory);
}
