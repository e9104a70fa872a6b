/* Names looked up by hash. */
#ifndef HEADWISE_IO_NAMES_H
#define HEADWISE_IO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an array of structs whose first field is const char *, the name. Zero: no names. The hash is
 * keyed by chance, so that nobody can write a file whose names all meet. */
struct headwise_io_names {
    const void *items;
    size_t item_bytes;
    uint64_t key[2];
    struct headwise_io_name {
        uint32_t number; /* of the item, from 1; 0: the place is free */
        uint32_t hash;   /* half of the hash, compared before the name is read */
    } * places;
    size_t n_places; /* a power of two */
};

/* Room for n names, below 2^31. False where memory runs out. Free places with free(). */
bool headwise_io_names_make(struct headwise_io_names *names, const void *items, size_t item_bytes,
                            size_t n);

/* The hash of item number index, whose place is then on its way from memory: asked for some items
 * before each is entered, a million names take half the time. */
uint64_t headwise_io_names_hash(const struct headwise_io_names *names, size_t index);

/* Enters item number index, unless there is one of that name. Returns the number of the one that is
 * in, index or an earlier one. */
size_t headwise_io_names_add(struct headwise_io_names *names, size_t index, uint64_t hash);

/* Sets *index to the item called name; false: there is none. */
bool headwise_io_names_find(const struct headwise_io_names *names, const char *name, size_t *index);

#endif
