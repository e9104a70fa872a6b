/* A text that was changed, and where each of its characters comes from.
 *
 * Most characters come from one of equal size in the original, so the origins are kept as a list of
 * pieces: a run of such characters is one piece, whatever its length. A lookup of rising positions
 * moves a cursor over the list, so that all together are linear. */
#ifndef HEADWISE_TEXT_ALIGNED_H
#define HEADWISE_TEXT_ALIGNED_H

#include "base/memory.h"

/* The bytes from at to the next piece's at. to == HEADWISE_ALIGNED_RUN: characters that have the
 * same size in the original, one after the other from byte from; otherwise each of them comes from
 * all bytes from..to. */
struct headwise_aligned_piece {
    size_t at, from, to;
};
#define HEADWISE_ALIGNED_RUN SIZE_MAX

struct headwise_aligned {
    const struct headwise_allocator *memory;
    struct headwise_bytes text; /* valid UTF-8 */
    struct headwise_aligned_piece *pieces;
    size_t n_pieces, capacity;
    bool failed; /* an allocation did; nothing is appended any more */
};

struct headwise_origin {
    size_t from, to; /* bytes of the original */
};

/* Empties it; memory stays. */
void headwise_aligned_clear(struct headwise_aligned *aligned);
void headwise_aligned_free(struct headwise_aligned *aligned);

/* Appends bytes that come from origin as one: a character, or several of a whole. */
void headwise_aligned_put(struct headwise_aligned *aligned, const char *bytes, size_t size,
                          struct headwise_origin origin);
void headwise_aligned_put_character(struct headwise_aligned *aligned, uint32_t c,
                                    struct headwise_origin origin);

/* Appends size bytes of characters that stand in the original from byte from. */
void headwise_aligned_put_run(struct headwise_aligned *aligned, const char *bytes, size_t size,
                              size_t from);

/* A position among the pieces, for lookups; zero at the beginning. */
struct headwise_aligned_cursor {
    size_t piece;
};

/* The origin of the character that byte at belongs to. */
struct headwise_origin headwise_aligned_origin(const struct headwise_aligned *aligned,
                                               struct headwise_aligned_cursor *cursor, size_t at);

/* Appends bytes begin..end of another one, with their origins. */
void headwise_aligned_put_part(struct headwise_aligned *aligned,
                               const struct headwise_aligned *from,
                               struct headwise_aligned_cursor *cursor, size_t begin, size_t end);

/* Reads characters of source and writes those that they become, as a list of changes. */
struct headwise_aligned_change {
    const struct headwise_aligned *source;
    struct headwise_aligned *target;
    struct headwise_aligned_cursor cursor;
    size_t at, begin, end; /* of source; nothing comes from before begin */
};

/* Writes c. taken 1: instead of the next character of the source; more: the others are dropped; 0:
 * beside the one before, whose origin it has. */
void headwise_aligned_change(struct headwise_aligned_change *change, uint32_t c, size_t taken);

/* Passes over the next characters of the source, which nothing stands for. */
void headwise_aligned_skip(struct headwise_aligned_change *change, size_t n);

#endif
