/* SentencePiece's precompiled map of characters: which texts of up to a few characters become
 * which, as a double array in base64. */
#ifndef HEADWISE_TEXT_CHARSMAP_H
#define HEADWISE_TEXT_CHARSMAP_H

#include "text/aligned.h"

struct headwise_charsmap {
    uint32_t *units;
    size_t n_units;
    char *texts; /* what they become, each with a NUL at its end */
    size_t texts_size;
};

/* base64 of a map. HEADWISE_ERR_FORMAT without an error text: it is none. */
enum headwise_status headwise_charsmap_read(struct headwise_charsmap *map,
                                            const struct headwise_allocator *memory,
                                            const char *base64, size_t size);
void headwise_charsmap_free(struct headwise_charsmap *map, const struct headwise_allocator *memory);

void headwise_charsmap_apply(struct headwise_aligned *target, const struct headwise_aligned *source,
                             const struct headwise_charsmap *map);

#endif
