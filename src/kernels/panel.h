/* Geometry of panels: how columns of a matrix share the panels that products read. */
#ifndef HEADWISE_PANEL_H
#define HEADWISE_PANEL_H

#include <stdint.h>

#include "kernels/kernels.h"

/* Width of the panel that begins at column c of a matrix with that many columns. */
static inline int headwise_panel_width(const struct headwise_kernels *kernels, int64_t columns,
                                       int64_t c) {
    int64_t left = columns - c;
    if (left >= kernels->nr)
        return kernels->nr;
    return (int)((left + kernels->nr_min - 1) / kernels->nr_min * kernels->nr_min);
}

/* Columns that one call of a product takes from column c on: those of all whole panels, or of the
 * narrower panel that is left. */
static inline int64_t headwise_whole_panels(const struct headwise_kernels *kernels, int64_t columns,
                                            int64_t c) {
    int64_t left = columns - c;
    return left >= kernels->nr ? left / kernels->nr * kernels->nr
                               : headwise_panel_width(kernels, columns, c);
}

#endif
