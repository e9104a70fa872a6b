/* The order of tensors in a file, and whether they cover it without holes. */
#include <stdlib.h>
#include <string.h>

#include "files/error.h"
#include "safetensors/header.h"

/* Whether entry a comes before b: by its beginning, an empty one first; equal ones as in the
 * header. */
static bool comes_before(const struct headwise_file_tensor *entries, uint32_t a, uint32_t b) {
    const unsigned char *left = entries[a].data, *right = entries[b].data;
    if (left != right)
        return left < right;
    if (entries[a].size_bytes != entries[b].size_bytes)
        return entries[a].size_bytes < entries[b].size_bytes;
    return a < b;
}

static bool is_sorted(const struct headwise_safetensors *file) {
    for (size_t i = 1; i < file->n_entries; i++) {
        if (!comes_before(file->entries, (uint32_t)i - 1, (uint32_t)i))
            return false;
    }
    return true;
}

/* Merges two sorted runs [low, middle) and [middle, high). */
static void merge(const struct headwise_file_tensor *entries, uint32_t *to, const uint32_t *from,
                  size_t low, size_t middle, size_t high) {
    size_t left = low, right = middle;
    for (size_t i = low; i < high; i++) {
        bool takes_left =
            left < middle && (right == high || !comes_before(entries, from[right], from[left]));
        to[i] = takes_left ? from[left++] : from[right++];
    }
}

/* Sorts order, in a time that no order of the header makes worse than n log n. */
static enum headwise_status sort_order(struct headwise_safetensors *file) {
    size_t n = file->n_entries;
    uint32_t *from = file->order, *to = malloc((n + 1) * sizeof *to);
    if (!to)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t low = 0; low < n; low += 2 * run) {
            size_t middle = low + run < n ? low + run : n;
            merge(file->entries, to, from, low, middle, middle + run < n ? middle + run : n);
        }
        uint32_t *swapped = from;
        from = to;
        to = swapped;
    }
    file->order = from;
    free(to);
    return HEADWISE_OK;
}

/* Whether two entries are one tensor that the header has twice. */
static bool is_repeated(const struct headwise_file_tensor *a,
                        const struct headwise_file_tensor *b) {
    return a && a->data == b->data && a->size_bytes == b->size_bytes && !headwise_io_is_usable(a) &&
           !headwise_io_is_usable(b) && strcmp(a->name, b->name) == 0;
}

static enum headwise_status check_order(const struct headwise_safetensors *file) {
    const unsigned char *buffer = file->map.bytes + file->header_end;
    size_t covered = 0, n_bytes = file->map.size_bytes - file->header_end;
    const struct headwise_file_tensor *before = NULL;
    for (size_t i = 0; i < file->n_entries; i++) {
        const struct headwise_file_tensor *entry = &file->entries[file->order[i]];
        size_t begin = (size_t)((const unsigned char *)entry->data - buffer);
        if (begin != covered && !is_repeated(before, entry))
            return headwise_io_fail(
                HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": data begins at %zu, expected %zu (%s)",
                file->path, entry->name, begin, covered,
                begin < covered ? "it overlaps the tensor before it" : "there is a hole before it");
        covered = begin + entry->size_bytes;
        before = entry;
    }
    if (covered != n_bytes)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: has %zu bytes after its last tensor, expected none",
                                file->path, n_bytes - covered);
    return HEADWISE_OK;
}

enum headwise_status headwise_io_check_cover(struct headwise_safetensors *file) {
    file->order = malloc((file->n_entries + 1) * sizeof *file->order);
    if (!file->order)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", file->path);
    for (size_t i = 0; i < file->n_entries; i++)
        file->order[i] = (uint32_t)i;
    enum headwise_status status = is_sorted(file) ? HEADWISE_OK : sort_order(file);
    if (!status)
        status = check_order(file);
    for (size_t i = 0; !status && i < file->n_entries; i++) {
        if (headwise_io_is_usable(&file->entries[file->order[i]]))
            file->order[file->n_tensors++] = file->order[i];
    }
    return status;
}
