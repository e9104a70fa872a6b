/* The page without its data; made from page/ by ../inspect/page/embed.py. */
#ifndef HEADWISE_TOOLS_SIGHT_PAGE_TEXT_H
#define HEADWISE_TOOLS_SIGHT_PAGE_TEXT_H

#include <stddef.h>

extern const unsigned char sight_page_before[], sight_page_after[];
extern const size_t sight_page_before_size, sight_page_after_size;

#endif
