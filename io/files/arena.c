/* Texts in blocks: a million names take a thousand allocations. */
#include "files/arena.h"

#include <stdlib.h>

struct headwise_io_block {
    struct headwise_io_block *before;
    size_t size_bytes;
    char bytes[];
};

/* The first block is small, since most files have few names; each one doubles up to a megabyte. */
enum { FIRST_BYTES = 1024, MOST_BYTES = 1 << 20 };

char *headwise_io_arena_take(struct headwise_io_arena *arena, size_t size_bytes) {
    if (size_bytes > arena->n_left) {
        size_t room = arena->last ? 2 * arena->last->size_bytes : FIRST_BYTES;
        room = room < MOST_BYTES ? room : MOST_BYTES;
        room = size_bytes > room ? size_bytes : room;
        struct headwise_io_block *block = malloc(sizeof *block + room);
        if (!block)
            return NULL;
        *block = (struct headwise_io_block){arena->last, room};
        arena->last = block;
        arena->n_left = room;
    }
    char *taken = arena->last->bytes + (arena->last->size_bytes - arena->n_left);
    arena->n_left -= size_bytes;
    return taken;
}

void headwise_io_arena_release(struct headwise_io_arena *arena) {
    while (arena->last) {
        struct headwise_io_block *before = arena->last->before;
        free(arena->last);
        arena->last = before;
    }
    arena->n_left = 0;
}
