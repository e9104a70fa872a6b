/* Small decisions taken from the bytes of a fuzzer; 0 where they end. */
#ifndef TESTS_FUZZ_DRAW_H
#define TESTS_FUZZ_DRAW_H

#include <stddef.h>
#include <stdint.h>

struct draw {
    const uint8_t *at;
    size_t left;
    uint32_t state; /* of draw_fill() */
};

/* One of 0 ... n-1. */
static inline int64_t draw_below(struct draw *draw, int64_t n) {
    if (draw->left == 0)
        return 0;
    draw->left--;
    return *draw->at++ % n;
}

/* n multiples of 2^-23 in [-1, 1), which go on from call to call. */
static inline void draw_fill(struct draw *draw, float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((draw->state = draw->state * 1664525 + 1013904223) >> 8) * 0x1p-23f - 1;
}

#endif
