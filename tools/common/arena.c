/* Blocks of zeroed memory in a list that is freed at once. */
#include "common/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/message.h"

struct arena_block {
    struct arena_block *previous;
    _Alignas(16) unsigned char bytes[];
};

void *arena_take(struct arena *arena, int64_t count, size_t size) {
    size_t n_bytes;
    if (count < 0 || __builtin_mul_overflow((uint64_t)count, size, &n_bytes) ||
        __builtin_add_overflow(n_bytes, sizeof(struct arena_block) + 16, &n_bytes)) {
        fail("out of memory: a size does not fit this machine");
        return NULL;
    }
    struct arena_block *block = calloc(1, n_bytes);
    if (!block) {
        fail("out of memory: %zu bytes could not be allocated", n_bytes);
        return NULL;
    }
    block->previous = arena->last;
    arena->last = block;
    return block->bytes;
}

char *arena_text(struct arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_take(arena, (int64_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void arena_free(struct arena *arena) {
    while (arena->last) {
        struct arena_block *block = arena->last;
        arena->last = block->previous;
        free(block);
    }
}
