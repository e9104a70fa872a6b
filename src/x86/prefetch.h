/* Hints to the caches. */
#ifndef HEADWISE_PREFETCH_H
#define HEADWISE_PREFETCH_H

#include <immintrin.h>

/* Fetches the cache line of p, which need not be valid, to L1 or to L2. Always inlined: gcc 12
 * takes a function of hints alone for one without effects and drops what calls of it are left after
 * the first inlining. */
static inline __attribute__((always_inline)) void prefetch(const void *p) {
    _mm_prefetch(p, _MM_HINT_T0);
}

static inline __attribute__((always_inline)) void prefetch_to_l2(const void *p) {
    _mm_prefetch(p, _MM_HINT_T1);
}
#endif
