/* Allocations that fail when told to: the linker puts these functions in the place of malloc and
 * its kin where static libraries call them (meson.build). */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
char *__real_strdup(const char *text);
char *__real_realpath(const char *path, char *resolved);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *resolved);

struct heap heap = {.fail_at = -1};

static bool refuse(void) {
    int64_t number = heap.n_calls++;
    bool refused =
        heap.fail_at >= 0 && (number == heap.fail_at || (heap.all && number > heap.fail_at));
    heap.n_refused += refused;
    if (refused)
        errno = ENOMEM;
    return refused;
}

static void *keep(void *memory) {
    heap.n_live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size) {
    return refuse() ? NULL : keep(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
    return refuse() ? NULL : keep(__real_calloc(n, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (refuse())
        return NULL;
    void *grown = __real_realloc(memory, size);
    heap.n_live += memory == NULL && grown != NULL;
    return grown;
}

void __wrap_free(void *memory) {
    heap.n_live -= memory != NULL;
    __real_free(memory);
}

char *__wrap_strdup(const char *text) {
    return refuse() ? NULL : keep(__real_strdup(text));
}

char *__wrap_realpath(const char *path, char *resolved) {
    return refuse() ? NULL : keep(__real_realpath(path, resolved));
}

/* The core's allocations count too. */
static void *core_alloc(void *user, size_t size_bytes, size_t alignment) {
    (void)user;
    return refuse() ? NULL
                    : keep(aligned_alloc(alignment,
                                         (size_bytes + alignment - 1) / alignment * alignment));
}

static void core_release(void *user, void *memory, size_t size_bytes) {
    (void)user;
    (void)size_bytes;
    __wrap_free(memory);
}

const struct headwise_allocator heap_allocator = {core_alloc, core_release, NULL};
