/* Memory that lives until the command ends. */
#ifndef HEADWISE_TOOLS_ARENA_H
#define HEADWISE_TOOLS_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena {
    struct arena_block *last;
};

/* count elements of size bytes, zeroed, aligned to 16 bytes; never NULL for a count of 0. NULL, and
 * the line on stderr printed, where memory runs out, count is negative or the product overflows. */
void *arena_take(struct arena *arena, int64_t count, size_t size);

/* A formatted text, or NULL as above. */
char *arena_text(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

void arena_free(struct arena *arena);

#endif
