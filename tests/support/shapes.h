/* The sizes where attention engines were found wrong: around 4, 8, 16, 32 lanes, around tiles of 64
 * and 512 keys, and the odd head sizes of real models. */
#ifndef TESTS_SHAPES_H
#define TESTS_SHAPES_H

#include <stddef.h>
#include <stdint.h>

static const int64_t shape_dims[] = {1,  3,  4,  5,  7,  8,  9,  15, 16,  17,  31,  33,  36,
                                     37, 40, 63, 64, 65, 72, 80, 96, 112, 128, 160, 256, 512};
static const int64_t shape_keys[] = {1,  2,  7,  8,  9,  31,  32,  33, 38,
                                     39, 63, 64, 65, 70, 511, 512, 513};
static const int64_t shape_queries[] = {1, 2, 3, 5};

enum {
    SHAPE_DIMS = sizeof(shape_dims) / sizeof(shape_dims[0]),
    SHAPE_KEYS = sizeof(shape_keys) / sizeof(shape_keys[0]),
    SHAPE_QUERIES = sizeof(shape_queries) / sizeof(shape_queries[0])
};

#endif
