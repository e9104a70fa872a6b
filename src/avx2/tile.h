/* What the register tile of products has of this tier. */
#ifndef HEADWISE_AVX2_TILE_H
#define HEADWISE_AVX2_TILE_H

#include "vec.h"

/* Whether multiply_broadcast_to is one instruction. */
enum { BROADCASTS_IN_PLACE = 0 };

/* Stops the compiler from loading x again at every use: one register, one load. */
static inline void keep_in_register(vec *x) {
    __asm__("" : "+x"(*x));
}

/* acc = fma(a, b, acc), in place: gcc 12 would sometimes put the sum over a factor and move it, or
 * even spill it. */
static inline void multiply_add_to(vec *acc, vec a, vec b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*acc) : "x"(a), "x"(b));
}

/* acc = fma(*x, b, acc) */
static inline void multiply_broadcast_to(vec *acc, const float *x, vec b) {
    *acc = multiply_add(broadcast(*x), b, *acc);
}

/* Rows of a tile one vector wide: as many accumulators as MR rows two vectors wide. Most rows of a
 * tile of plain rows in scores and project. */
enum { MR_NARROW = 2 * MR, MR_DIRECT = 6 };

/* clang-format off */
#define CASES_WIDE \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2)
#define CASES_PANEL \
    CASE(1, 1) CASE(2, 1) CASE(3, 1) CASE(4, 1) CASE(5, 1) CASE(6, 1)
#define CASES_DIRECT \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2)
/* clang-format on */

#endif
