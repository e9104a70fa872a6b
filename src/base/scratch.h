/* Layouts of memory: what lies where, before there is any. */
#ifndef HEADWISE_SCRATCH_H
#define HEADWISE_SCRATCH_H

#include "base/alloc.h"

/* Takes room for rows * columns elements in a layout of *total elements, and returns where it
 * begins; room is rounded up to a multiple of step, at most HEADWISE_ALIGNMENT. *total becomes -1
 * where a count is negative or the sum overflows, and stays so. */
static inline int64_t headwise_take_elements(int64_t *total, int64_t rows, int64_t columns,
                                             int64_t step) {
    int64_t at = *total;
    int64_t n;
    if (at < 0 || rows < 0 || columns < 0 || !headwise_mul(&n, rows, columns) ||
        n > INT64_MAX - HEADWISE_ALIGNMENT || !headwise_sum(total, at, headwise_round_up(n, step)))
        *total = -1;
    return at;
}

/* Floats: what is taken begins at a multiple of HEADWISE_ALIGNMENT. */
static inline int64_t headwise_take(int64_t *total, int64_t rows, int64_t columns) {
    return headwise_take_elements(total, rows, columns, HEADWISE_ALIGNMENT / 4);
}

/* Elements of size bytes each, in a layout of *total bytes, each part aligned likewise. */
static inline int64_t headwise_take_bytes(int64_t *total, int64_t rows, int64_t columns,
                                          int64_t size) {
    int64_t n;
    return headwise_take_elements(total, headwise_mul(&n, rows, columns) ? n : -1, size,
                                  HEADWISE_ALIGNMENT);
}

/* Bytes of a layout of floats; -1 where it overflows, or no object can be so large. */
static inline int64_t headwise_float_bytes(int64_t floats) {
    size_t bytes = floats < 0 ? SIZE_MAX : headwise_bytes(floats, sizeof(float));
    return bytes == SIZE_MAX ? -1 : (int64_t)bytes;
}

/* An odd multiple of 16 floats, at least n: rows so far apart start in different cache sets. */
static inline int64_t headwise_odd_stride(int64_t n) {
    return (((n + 15) / 16) | 1) * 16;
}

#endif
