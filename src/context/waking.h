/* When waking threads pays: it costs about 5 us, in which one thread does this much. */
#ifndef HEADWISE_WAKING_H
#define HEADWISE_WAKING_H

#include <stdbool.h>

/* Multiply-adds of attention and of projections, whose rows run faster; elements that are rotated,
 * normalized or stored in a cache. A call with less is left to the calling thread. */
enum headwise_waking {
    HEADWISE_WAKING_ATTENTION = 256 * 1024,
    HEADWISE_WAKING_PROJECTION = 512 * 1024,
    HEADWISE_WAKING_ROTATION = 64 * 1024,
    HEADWISE_WAKING_ROWS = 64 * 1024,
    HEADWISE_WAKING_APPENDING = 32 * 1024
};

static inline bool headwise_is_tiny(double work, enum headwise_waking waking) {
    return work < (double)waking;
}

#endif
