/* Text on a terminal, where a letter may be two columns wide. */
#ifndef HEADWISE_TOOLS_TEXT_H
#define HEADWISE_TOOLS_TEXT_H

#include "common/arena.h"

/* Call once before the others: display widths need a locale of UTF-8. */
void text_init(void);

/* Columns that text_print(text, 0) takes. */
int text_width(const char *text);

/* Prints UTF-8 text, then spaces up to width columns. What cannot be shown (control characters,
 * bytes that are no UTF-8) becomes '?'. */
void text_print(const char *text, int width);

/* length bytes as UTF-8 text, each byte that is none replaced by U+FFFD; a NUL ends it. NULL where
 * memory runs out. Needs no text_init(). */
char *text_clean(struct arena *arena, const char *bytes, size_t length);

#endif
