/* Names looked up by hash: SipHash-1-3 (after Aumasson and Bernstein, 2012) and open
 * addressing. */
#define _DEFAULT_SOURCE /* getrandom */
#include "files/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static inline uint64_t rotate(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

static inline void mix(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t hash_name(const struct headwise_io_names *names, const char *name) {
    size_t n = strlen(name), left = n;
    uint64_t v[4] = {names->key[0] ^ 0x736f6d6570736575u, names->key[1] ^ 0x646f72616e646f6du,
                     names->key[0] ^ 0x6c7967656e657261u, names->key[1] ^ 0x7465646279746573u};
    for (; left >= 8; left -= 8, name += 8) {
        uint64_t word;
        memcpy(&word, name, 8);
        v[3] ^= word;
        mix(v, 1);
        v[0] ^= word;
    }
    uint64_t last = 0;
    memcpy(&last, name, left);
    last ^= (uint64_t)n << 56;
    v[3] ^= last;
    mix(v, 1);
    v[0] ^= last;
    v[2] ^= 0xff;
    mix(v, 3);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static const char *name_of(const struct headwise_io_names *names, size_t index) {
    const char *name;
    memcpy(&name, (const char *)names->items + index * names->item_bytes, sizeof name);
    return name;
}

bool headwise_io_names_make(struct headwise_io_names *names, const void *items, size_t item_bytes,
                            size_t n) {
    size_t n_places = 8;
    while (n_places < 2 * n)
        n_places *= 2;
    *names =
        (struct headwise_io_names){.items = items, .item_bytes = item_bytes, .n_places = n_places};
    names->places = calloc(n_places, sizeof *names->places);
    /* Without it an address: random enough where the system places programs by chance. */
    if (getrandom(names->key, sizeof names->key, GRND_NONBLOCK) != (ssize_t)sizeof names->key)
        names->key[0] = (uint64_t)(uintptr_t)names->places;
    return names->places != NULL;
}

/* The place of a name, or the free place where it would be. */
static struct headwise_io_name *place_of(const struct headwise_io_names *names, const char *name,
                                         uint64_t hash) {
    uint32_t half = (uint32_t)(hash >> 32);
    for (size_t i = (size_t)hash;; i++) {
        struct headwise_io_name *place = &names->places[i & (names->n_places - 1)];
        if (place->number == 0 ||
            (place->hash == half && strcmp(name_of(names, place->number - 1), name) == 0))
            return place;
    }
}

uint64_t headwise_io_names_hash(const struct headwise_io_names *names, size_t index) {
    uint64_t hash = hash_name(names, name_of(names, index));
    __builtin_prefetch(&names->places[(size_t)hash & (names->n_places - 1)], 1);
    return hash;
}

size_t headwise_io_names_add(struct headwise_io_names *names, size_t index, uint64_t hash) {
    struct headwise_io_name *place = place_of(names, name_of(names, index), hash);
    if (place->number == 0)
        *place = (struct headwise_io_name){(uint32_t)index + 1, (uint32_t)(hash >> 32)};
    return place->number - 1;
}

bool headwise_io_names_find(const struct headwise_io_names *names, const char *name,
                            size_t *index) {
    if (names->n_places == 0)
        return false;
    const struct headwise_io_name *place = place_of(names, name, hash_name(names, name));
    *index = place->number - 1;
    return place->number > 0;
}
