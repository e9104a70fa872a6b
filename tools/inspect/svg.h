/* Findings as a picture for a paper. */
#ifndef HEADWISE_TOOLS_INSPECT_SVG_H
#define HEADWISE_TOOLS_INSPECT_SVG_H

#include "inspect/findings.h"

/* Writes one SVG: the maps of all heads in rows, with names of tokens where every one has a cell
 * and there is room, and the scale of the colours. Maps of more than 128 cells of a side (64 where
 * there are more than 12 heads) are drawn with fewer, larger cells. Returns an exit code. */
int svg_write(const char *path, const struct findings *findings);

#endif
