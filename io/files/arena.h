/* Texts that live and go together. */
#ifndef HEADWISE_IO_ARENA_H
#define HEADWISE_IO_ARENA_H

#include <stddef.h>

struct headwise_io_block;

/* Zero at the start. What it gave stays where it is until it is released. */
struct headwise_io_arena {
    struct headwise_io_block *last;
    size_t n_left; /* bytes at the end of last */
};

/* size_bytes bytes, aligned to nothing; NULL where memory runs out. */
char *headwise_io_arena_take(struct headwise_io_arena *arena, size_t size_bytes);

void headwise_io_arena_release(struct headwise_io_arena *arena);

#endif
