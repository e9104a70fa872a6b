/* Checked sizes, and memory from the caller's allocator. */
#ifndef HEADWISE_ALLOC_H
#define HEADWISE_ALLOC_H

#include "headwise/common.h"

/* A cache line, and an AVX-512 register. */
#define HEADWISE_ALIGNMENT 64

/* *product = a * b (or *sum = a + b) and true; false where the result does not fit int64_t. */
static inline bool headwise_mul(int64_t *product, int64_t a, int64_t b) {
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool headwise_sum(int64_t *sum, int64_t a, int64_t b) {
    return !__builtin_add_overflow(a, b, sum);
}

static inline int64_t headwise_round_up(int64_t x, int64_t step) {
    return (x + step - 1) / step * step;
}

static inline int64_t headwise_ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static inline int64_t headwise_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t headwise_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Takes room for rows * columns floats in a plan of *total floats, and returns where it begins, a
 * multiple of HEADWISE_ALIGNMENT. *total becomes -1 where the sum overflows, and stays so. */
static inline int64_t headwise_take(int64_t *total, int64_t rows, int64_t columns) {
    int64_t at = *total;
    int64_t floats;
    if (at < 0 || !headwise_mul(&floats, rows, columns) || floats > INT64_MAX / 8 ||
        !headwise_sum(total, at, headwise_round_up(floats, HEADWISE_ALIGNMENT / 4)))
        *total = -1;
    return at;
}

/* An odd multiple of 16 floats, at least n: rows so far apart start in different cache sets. */
static inline int64_t headwise_odd_stride(int64_t n) {
    return (((n + 15) / 16) | 1) * 16;
}

/* size_bytes aligned to HEADWISE_ALIGNMENT, or NULL; 0 bytes give NULL too. */
void *headwise_alloc(const struct headwise_allocator *allocator, size_t size_bytes);

/* memory may be NULL. size_bytes is what it was allocated with. */
void headwise_release(const struct headwise_allocator *allocator, void *memory, size_t size_bytes);

#endif
