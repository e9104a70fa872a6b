/* Memory of an opened network, and the names of tensors that it was made from. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/loader.h"

struct headwise_store_piece {
    struct headwise_store_piece *next;
    size_t size_bytes; /* with this head */
};

enum { ALIGNMENT = 64 };

void *headwise_store_take(struct headwise_store *store, size_t count, size_t item_bytes) {
    size_t size;
    if (__builtin_mul_overflow(count, item_bytes, &size) || size > SIZE_MAX - 2 * ALIGNMENT)
        return NULL;
    size = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct headwise_store_piece *piece =
        store->allocator.alloc(store->allocator.user, size, ALIGNMENT);
    if (!piece)
        return NULL;
    piece->next = store->pieces;
    piece->size_bytes = size;
    store->pieces = piece;
    store->size_bytes += size;
    return (char *)piece + ALIGNMENT;
}

void headwise_store_free(struct headwise_store *store) {
    while (store->pieces) {
        struct headwise_store_piece *piece = store->pieces;
        store->pieces = piece->next;
        store->allocator.release(store->allocator.user, piece, piece->size_bytes);
    }
}

enum headwise_status headwise_loader_note(struct headwise_loader *loader, const char *name) {
    struct headwise_names *names = &loader->names;
    if (!headwise_memory_grow(&loader->store->allocator, &names->at, &names->capacity, names->n + 1,
                              sizeof *names->at))
        return headwise_model_no_memory(headwise_checkpoint_path(loader->checkpoint));
    names->at[names->n++] = name;
    return HEADWISE_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum headwise_status headwise_loader_finish(struct headwise_loader *loader) {
    const struct headwise_names *names = &loader->names;
    const char *name;
    qsort(names->at, names->n, sizeof *names->at, compare_names);
    for (size_t i = 0; (name = headwise_checkpoint_tensor_name(loader->checkpoint, i)); i++) {
        if (!bsearch(&name, names->at, names->n, sizeof *names->at, compare_names) &&
            !headwise_describe_passes_over(loader->description, name))
            return headwise_model_fail(
                HEADWISE_ERR_FORMAT,
                "%s: tensor \"%s\": is not known in a %s model, expected none of that name",
                headwise_checkpoint_path(loader->checkpoint), name,
                loader->description->family->name);
    }
    return HEADWISE_OK;
}

void headwise_loader_close(struct headwise_loader *loader) {
    headwise_memory_give(&loader->store->allocator, loader->names.at, loader->names.capacity,
                         sizeof *loader->names.at);
    headwise_checkpoint_close(loader->checkpoint);
}
