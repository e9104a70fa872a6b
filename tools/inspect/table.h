/* Findings in a terminal. */
#ifndef HEADWISE_TOOLS_INSPECT_TABLE_H
#define HEADWISE_TOOLS_INSPECT_TABLE_H

#include "inspect/findings.h"

/* Prints statistics, pairs, links, similarity and what the output loses without each head. Needs
 * text_init(); is_utf8: the terminal shows UTF-8 (else profiles and arrows are plain ASCII).
 * Returns an exit code. */
int table_print(const struct findings *findings, struct arena *arena, bool is_utf8);

#endif
