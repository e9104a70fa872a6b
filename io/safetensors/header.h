/* The inside of an open file, and the check of its header. */
#ifndef HEADWISE_IO_HEADER_H
#define HEADWISE_IO_HEADER_H

#include "files/arena.h"
#include "files/map.h"
#include "files/names.h"
#include "headwise-io/safetensors.h"
#include "json/reader.h"

/* A tensor that is there but cannot be read. */
struct headwise_io_unusable {
    uint32_t entry;
    enum headwise_io_problem {
        HEADWISE_IO_BAD_DTYPE,
        HEADWISE_IO_BAD_RANK,
        HEADWISE_IO_BAD_NAME,
        HEADWISE_IO_TWICE
    } problem;
    char dtype[20];  /* BAD_DTYPE: cut to size */
    uint32_t n_axes; /* BAD_RANK */
};

struct headwise_safetensors {
    char *path;
    struct headwise_io_map map;
    size_t header_end; /* where data begins */
    struct headwise_io_arena texts;

    /* Every entry in the order of the header. Of an unusable one dtype is no headwise_file_dtype,
     * and only name, data and size_bytes are set. */
    struct headwise_file_tensor *entries;
    size_t n_entries, n_entry_room;
    struct headwise_io_names names;
    struct headwise_io_unusable *unusable;
    size_t n_unusable, n_unusable_room;

    uint32_t *order; /* the usable entries in the order of their data [n_tensors] */
    size_t n_tensors;

    struct headwise_file_metadata *metadata;
    size_t n_metadata, n_metadata_room;
    size_t n_metadata_lost; /* texts with U+0000 or half a surrogate pair: no C string holds them */
};

/* Fills in a file whose path and map are set. On failure the error text is set; what was allocated
 * is left for headwise_safetensors_close(). */
enum headwise_status headwise_io_parse_header(struct headwise_safetensors *file);

/* entry.c: reads the value of the key called name into a new entry. */
enum headwise_status headwise_io_parse_entry(struct headwise_safetensors *file,
                                             struct headwise_json_reader *json,
                                             const struct headwise_json_text *name);

/* keep.c: a copy with a NUL at its end; NULL, and the error text set, where memory runs out. */
char *headwise_io_keep_text(struct headwise_safetensors *file,
                            const struct headwise_json_text *text);

/* keep.c: the reader's error. */
enum headwise_status headwise_io_fail_json(const struct headwise_safetensors *file,
                                           const struct headwise_json_reader *json);

/* keep.c: room for one more item at the end of an array of n; false, and the error text set,
 * without memory. */
bool headwise_io_make_room(const struct headwise_safetensors *file, void *items, size_t item_bytes,
                           size_t n, size_t *n_room);

/* unusable.c: notes that an entry cannot be used. */
enum headwise_status headwise_io_note_unusable(struct headwise_safetensors *file,
                                               const struct headwise_io_unusable *unusable);
bool headwise_io_is_usable(const struct headwise_file_tensor *entry);

/* Fails with what keeps entry number index from being used. */
enum headwise_status headwise_io_fail_unusable(const struct headwise_safetensors *file,
                                               size_t index);

/* cover.c: sorts the entries by their data, checks that they cover the buffer exactly, and makes
 * order. */
enum headwise_status headwise_io_check_cover(struct headwise_safetensors *file);

#endif
