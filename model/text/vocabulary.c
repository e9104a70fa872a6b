/* Keeps pieces in one block and finds them by a hash. */
#include "text/vocabulary.h"

#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

uint64_t headwise_text_hash(const char *bytes, size_t size) {
    uint64_t hash = size * 0xff51afd7ed558ccdu, word = 0;
    for (; size >= 8; bytes += 8, size -= 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    hash = mix(mix(hash, word), 0x2545f4914f6cdd1du);
    return hash ^ hash >> 32;
}

static const char *piece_bytes(const struct headwise_vocabulary *v, uint32_t id) {
    return v->pool.at + v->places[id].begin;
}

/* The slot of a piece, or the empty one where it belongs. */
static size_t find_slot(const struct headwise_vocabulary *v, const char *bytes, size_t size) {
    size_t mask = v->n_slots - 1;
    size_t slot = headwise_text_hash(bytes, size) & mask;
    while (v->slots[slot]) {
        uint32_t id = v->slots[slot] - 1;
        if (v->places[id].size == size && memcmp(piece_bytes(v, id), bytes, size) == 0)
            return slot;
        slot = (slot + 1) & mask;
    }
    return slot;
}

static bool enlarge_slots(struct headwise_vocabulary *v) {
    size_t n = v->n_slots ? 2 * v->n_slots : 1024;
    uint32_t *slots = headwise_memory_take(v->memory, n, sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, n * sizeof *slots);
    uint32_t *before = v->slots;
    size_t n_before = v->n_slots;
    v->slots = slots;
    v->n_slots = n;
    for (size_t i = 0; i < n_before; i++) {
        if (before[i]) {
            const struct headwise_vocabulary_place *place = &v->places[before[i] - 1];
            slots[find_slot(v, v->pool.at + place->begin, place->size)] = before[i];
        }
    }
    headwise_memory_give(v->memory, before, n_before, sizeof *before);
    return true;
}

bool headwise_vocabulary_add(struct headwise_vocabulary *v, struct headwise_text piece,
                             uint32_t id) {
    if (2 * (v->n_pieces + 1) > v->n_slots && !enlarge_slots(v))
        return false;
    size_t before = v->n_ids < v->places_capacity ? v->n_ids : v->places_capacity;
    if (!headwise_memory_grow(v->memory, &v->places, &v->places_capacity, (size_t)id + 1,
                              sizeof *v->places))
        return false;
    for (; before <= id; before++) {
        if (before >= v->n_ids)
            v->places[before] = (struct headwise_vocabulary_place){0};
    }
    if (v->n_ids <= id)
        v->n_ids = (size_t)id + 1;
    size_t begin = v->pool.size;
    if (begin + piece.size_bytes > UINT32_MAX ||
        !headwise_bytes_append(v->memory, &v->pool, piece.bytes, piece.size_bytes))
        return false;
    size_t slot = find_slot(v, piece.bytes, piece.size_bytes);
    if (!v->slots[slot])
        v->n_pieces++;
    if (!v->places[id].is_used) /* otherwise the first piece of an id stays its name */
        v->places[id] =
            (struct headwise_vocabulary_place){(uint32_t)begin, (uint32_t)piece.size_bytes, 1};
    v->slots[slot] = id + 1;
    return true;
}

int32_t headwise_vocabulary_find(const struct headwise_vocabulary *v, const char *bytes,
                                 size_t size) {
    if (v->n_slots == 0)
        return -1;
    return (int32_t)v->slots[find_slot(v, bytes, size)] - 1;
}

struct headwise_text headwise_vocabulary_piece(const struct headwise_vocabulary *v, uint32_t id) {
    if (id >= v->n_ids || !v->places[id].is_used)
        return (struct headwise_text){NULL, 0};
    return (struct headwise_text){piece_bytes(v, id), v->places[id].size};
}

void headwise_vocabulary_free(struct headwise_vocabulary *v) {
    headwise_bytes_free(v->memory, &v->pool);
    headwise_memory_give(v->memory, v->places, v->places_capacity, sizeof *v->places);
    headwise_memory_give(v->memory, v->slots, v->n_slots, sizeof *v->slots);
    *v = (struct headwise_vocabulary){.memory = v->memory};
}
