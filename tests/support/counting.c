/* Counts allocations, checks what is given back, and fails when told to. */
#include "counting.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_headers.h"

/* A block begins with a page for this; the memory follows, moved by its alignment, so that it is
 * aligned to what was asked for and to nothing more. */
struct header {
    size_t size_bytes;
    uint64_t magic;
};

enum { PAGE = 4096 };
static const uint64_t magic = 0x6c6f636174655af3u;

static void *counting_alloc(void *user, size_t size_bytes, size_t alignment) {
    struct counting *counting = user;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > PAGE || size_bytes == 0)
        counting->n_wrong++;
    if (counting->n_calls++ >= counting->fail_at) {
        counting->n_refused++;
        return NULL;
    }
    size_t shift = alignment < PAGE ? alignment : 0;
    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    char *block = aligned_alloc(PAGE, (PAGE + shift + size_bytes + PAGE - 1) / PAGE * PAGE);
    if (block == NULL)
        return NULL;
    struct header header = {size_bytes, magic};
    memcpy(block, &header, sizeof(header));
    memset(block + PAGE + shift, 0xff, size_bytes); /* NaN: nothing may rely on zeros */
    counting->n_live++;
    return block + PAGE + shift;
}

static void counting_release(void *user, void *memory, size_t size_bytes) {
    struct counting *counting = user;
    if (memory == NULL) {
        counting->n_wrong++;
        return;
    }
    char *block = (char *)((uintptr_t)memory / PAGE * PAGE) - PAGE;
    struct header header;
    memcpy(&header, block, sizeof(header));
    if (header.magic != magic || header.size_bytes != size_bytes) {
        counting->n_wrong++;
        return;
    }
    memset(block, 0, sizeof(header)); /* a second release is seen */
    free(block);
    counting->n_live--;
}

struct headwise_allocator counting_allocator(struct counting *counting) {
    return (struct headwise_allocator){counting_alloc, counting_release, counting};
}

void counting_expect_balanced(const struct counting *counting) {
    assert_int_equal(counting->n_wrong, 0);
    assert_int_equal(counting->n_live, 0);
}
