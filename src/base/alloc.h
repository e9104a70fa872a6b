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

/* a + b, or the end of int64_t beyond which it lies. */
static inline int64_t headwise_held_sum(int64_t a, int64_t b) {
    int64_t sum;
    return headwise_sum(&sum, a, b) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

/* Bytes of count elements, count 0 or more; SIZE_MAX, which headwise_alloc() refuses, where no
 * object can be so large. */
static inline size_t headwise_bytes(int64_t count, size_t size) {
    int64_t bytes;
    bool fits = headwise_mul(&bytes, count, (int64_t)size) && bytes <= PTRDIFF_MAX;
    return fits ? (size_t)bytes : SIZE_MAX;
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

/* size_bytes aligned to HEADWISE_ALIGNMENT, or NULL; 0 bytes give NULL too. */
void *headwise_alloc(const struct headwise_allocator *allocator, size_t size_bytes);

/* memory may be NULL. size_bytes is what it was allocated with. */
void headwise_release(const struct headwise_allocator *allocator, void *memory, size_t size_bytes);

#endif
