/* Loaded before the C library: lets allocations of a command fail. FAILING_FROM and FAILING_BEFORE
 * number those that do, from 0, counted from where the libraries are loaded. At the end their
 * number is written to the file FAILING_COUNT. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic long n_calls;
static bool is_counting;
static long from, before;

/* This library's constructor comes after those of the libraries that the program links, the
 * destructor before theirs. */
__attribute__((constructor)) static void begin(void) {
    const char *first = getenv("FAILING_FROM"), *last = getenv("FAILING_BEFORE");
    from = first ? atol(first) : 0;
    before = last ? atol(last) : 0;
    is_counting = true;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAILING_COUNT");
    is_counting = false;
    FILE *stream = path ? fopen(path, "w") : NULL;
    if (stream) {
        fprintf(stream, "%ld\n", atomic_load(&n_calls));
        fclose(stream);
    }
}

static bool fails(void) {
    if (!is_counting)
        return false;
    long n = atomic_fetch_add(&n_calls, 1);
    if (n < from || n >= before)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
    return fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *found = fails() ? NULL : __libc_memalign(alignment, size);
    if (!found)
        return ENOMEM;
    *block = found;
    return 0;
}

/* Fortran's runtime, which LAPACK needs, ends the process where it is loaded without memory:
 * nothing fails while a library is loaded. */
void *dlopen(const char *name, int flags) {
    void *(*open)(const char *, int), *address = dlsym(RTLD_NEXT, "dlopen");
    bool was_counting = is_counting;
    memcpy(&open, &address, sizeof address);
    is_counting = false;
    void *library = open(name, flags);
    is_counting = was_counting;
    return library;
}
