/* The page without its data; page_text.c is made from page/ by page/embed.py. */
#ifndef HEADWISE_TOOLS_INSPECT_PAGE_TEXT_H
#define HEADWISE_TOOLS_INSPECT_PAGE_TEXT_H

#include <stddef.h>

extern const unsigned char page_before[], page_after[];
extern const size_t page_before_size, page_after_size;

#endif
