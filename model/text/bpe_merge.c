/* Joins symbols: a few by looking at all pairs, many by a heap. */
#include "text/bpe_merge.h"

#include <string.h>

enum { FEW = 24 }; /* symbols whose pairs are looked at one by one: most words */

static size_t slot_of(const struct headwise_merges *merges, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << 32 | right;
    key *= 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(key >> 32) & (merges->n_slots - 1);
    while (merges->slots[slot].left != UINT32_MAX &&
           (merges->slots[slot].left != left || merges->slots[slot].right != right))
        slot = (slot + 1) & (merges->n_slots - 1);
    return slot;
}

static const struct headwise_merge *find(const struct headwise_merges *merges, uint32_t left,
                                         uint32_t right) {
    if (merges->n_slots == 0)
        return NULL;
    const struct headwise_merge *merge = &merges->slots[slot_of(merges, left, right)];
    return merge->left == UINT32_MAX ? NULL : merge;
}

bool headwise_merges_add(struct headwise_merges *merges, struct headwise_merge merge) {
    if (2 * (merges->n + 1) > merges->n_slots) {
        struct headwise_merges larger = {
            merges->memory, NULL, merges->n_slots ? 2 * merges->n_slots : 256, 0, merges->rank};
        larger.slots = headwise_memory_take(merges->memory, larger.n_slots, sizeof *larger.slots);
        if (!larger.slots)
            return false;
        memset(larger.slots, 0xff, larger.n_slots * sizeof *larger.slots);
        for (size_t i = 0; i < merges->n_slots; i++) {
            const struct headwise_merge *old = &merges->slots[i];
            if (old->left != UINT32_MAX)
                larger.slots[slot_of(&larger, old->left, old->right)] = *old;
        }
        larger.n = merges->n;
        headwise_merges_free(merges);
        *merges = larger;
    }
    size_t slot = slot_of(merges, merge.left, merge.right);
    merges->n += merges->slots[slot].left == UINT32_MAX;
    merges->slots[slot] = merge;
    return true;
}

void headwise_merges_free(struct headwise_merges *merges) {
    headwise_memory_give(merges->memory, merges->slots, merges->n_slots, sizeof *merges->slots);
    *merges = (struct headwise_merges){.memory = merges->memory};
}

bool headwise_bpe_add(struct headwise_bpe_room *room, uint32_t id, size_t size) {
    if (size > UINT32_MAX || room->n >= UINT32_MAX ||
        !headwise_memory_grow(room->memory, &room->symbols, &room->capacity, room->n + 1,
                              sizeof *room->symbols))
        return false;
    room->symbols[room->n++] = (struct headwise_symbol){id, (uint32_t)size, 0, 0};
    return true;
}

void headwise_bpe_room_free(struct headwise_bpe_room *room) {
    headwise_memory_give(room->memory, room->symbols, room->capacity, sizeof *room->symbols);
    headwise_memory_give(room->memory, room->heap, room->heap_capacity, sizeof *room->heap);
    *room = (struct headwise_bpe_room){.memory = room->memory};
}

static void merge_few(const struct headwise_merges *merges, struct headwise_bpe_room *room) {
    struct headwise_symbol *symbols = room->symbols;
    const struct headwise_merge *pairs[FEW];
    size_t n = room->n;
    for (size_t i = 0; i + 1 < n; i++)
        pairs[i] = find(merges, symbols[i].id, symbols[i + 1].id);
    for (;;) {
        size_t best = n;
        uint32_t rank = UINT32_MAX;
        for (size_t i = 0; i + 1 < n; i++) {
            if (pairs[i] && pairs[i]->rank < rank) {
                rank = pairs[i]->rank;
                best = i;
            }
        }
        if (best == n)
            break;
        symbols[best].id = pairs[best]->id;
        symbols[best].size += symbols[best + 1].size;
        n--;
        memmove(&symbols[best + 1], &symbols[best + 2], (n - best - 1) * sizeof *symbols);
        if (n > best + 1)
            memmove(&pairs[best], &pairs[best + 1], (n - best - 1) * sizeof(pairs[0]));
        if (best > 0)
            pairs[best - 1] = find(merges, symbols[best - 1].id, symbols[best].id);
        if (best + 1 < n)
            pairs[best] = find(merges, symbols[best].id, symbols[best + 1].id);
    }
    room->n = n;
}

static bool comes_before(struct headwise_candidate a, struct headwise_candidate b) {
    return a.rank < b.rank || (a.rank == b.rank && a.at < b.at);
}

static void sink(struct headwise_candidate *heap, size_t n, size_t i) {
    struct headwise_candidate moving = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && comes_before(heap[child + 1], heap[child]))
            child++;
        if (!comes_before(heap[child], moving))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

/* Adds the pair that begins at at, where it can be joined. */
static bool add_candidate(const struct headwise_merges *merges, struct headwise_bpe_room *room,
                          uint32_t at) {
    const struct headwise_symbol *symbol = &room->symbols[at];
    if (symbol->next == UINT32_MAX)
        return true;
    const struct headwise_merge *merge = find(merges, symbol->id, room->symbols[symbol->next].id);
    if (!merge)
        return true;
    if (!headwise_memory_grow(room->memory, &room->heap, &room->heap_capacity, room->n_heap + 1,
                              sizeof *room->heap))
        return false;
    struct headwise_candidate added = {merge->rank, at, merge->id};
    size_t i = room->n_heap++;
    for (; i > 0 && comes_before(added, room->heap[(i - 1) / 2]); i = (i - 1) / 2)
        room->heap[i] = room->heap[(i - 1) / 2];
    room->heap[i] = added;
    return true;
}

/* Joins the pair of the best candidate, unless one of the two was joined to another before. */
static bool merge_best(const struct headwise_merges *merges, struct headwise_bpe_room *room) {
    struct headwise_candidate best = room->heap[0];
    room->heap[0] = room->heap[--room->n_heap];
    if (room->n_heap > 0)
        sink(room->heap, room->n_heap, 0);
    struct headwise_symbol *symbol = &room->symbols[best.at];
    if (symbol->size == 0 || symbol->next == UINT32_MAX)
        return true;
    struct headwise_symbol *right = &room->symbols[symbol->next];
    const struct headwise_merge *merge = find(merges, symbol->id, right->id);
    if (!merge || merge->id != best.id)
        return true;
    symbol->id = merge->id;
    symbol->size += right->size;
    right->size = 0;
    symbol->next = right->next;
    if (symbol->next != UINT32_MAX)
        room->symbols[symbol->next].previous = best.at;
    return (symbol->previous == UINT32_MAX || add_candidate(merges, room, symbol->previous)) &&
           add_candidate(merges, room, best.at);
}

bool headwise_bpe_merge(const struct headwise_merges *merges, struct headwise_bpe_room *room) {
    if (room->n < 2)
        return true;
    if (room->n <= FEW) {
        merge_few(merges, room);
        return true;
    }
    room->n_heap = 0;
    for (size_t i = 0; i < room->n; i++) {
        room->symbols[i].previous = i == 0 ? UINT32_MAX : (uint32_t)i - 1;
        room->symbols[i].next = i + 1 == room->n ? UINT32_MAX : (uint32_t)i + 1;
    }
    for (size_t i = 0; i < room->n; i++) {
        if (!add_candidate(merges, room, (uint32_t)i))
            return false;
    }
    while (room->n_heap > 0) {
        if (!merge_best(merges, room))
            return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < room->n; i++) {
        if (room->symbols[i].size > 0)
            room->symbols[n++] = room->symbols[i];
    }
    room->n = n;
    return true;
}
