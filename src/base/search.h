/* One binary search. */
#ifndef HEADWISE_SEARCH_H
#define HEADWISE_SEARCH_H

#include <stdint.h>

/* Where element i of an increasing sequence begins. */
typedef int64_t headwise_start_fn(const void *sequence, int64_t i);

/* The last of n elements (1 or more) that begins at or before position; 0 where none does. Of
 * several that begin at one place it is the last. */
static inline int64_t headwise_find_last(const void *sequence, int64_t n, headwise_start_fn *start,
                                         int64_t position) {
    int64_t lo = 0, hi = n;
    while (hi - lo > 1) {
        int64_t middle = lo + (hi - lo) / 2;
        if (start(sequence, middle) <= position)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

#endif
