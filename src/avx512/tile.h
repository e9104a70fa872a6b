/* What the register tile of products has of this tier. */
#ifndef HEADWISE_AVX512_TILE_H
#define HEADWISE_AVX512_TILE_H

#include "vec.h"

/* Whether multiply_broadcast_to is one instruction. */
enum { BROADCASTS_IN_PLACE = 1 };

/* Stops the compiler from loading x again at every use: one register, one load. */
static inline void keep_in_register(vec *x) {
    __asm__("" : "+v"(*x));
}

/* acc = fma(a, b, acc), in place: gcc 12 would sometimes put the sum over a factor and move it. */
static inline void multiply_add_to(vec *acc, vec a, vec b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*acc) : "v"(a), "v"(b));
}

/* acc = fma(*x, b, acc) as one instruction. */
static inline void multiply_broadcast_to(vec *acc, const float *x, vec b) {
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(*acc) : "v"(b), "m"(*x));
}

/* Rows of a tile one vector wide: enough chains to hide the latency of an FMA. Most rows of a tile
 * of plain rows in scores and project: enough for the query heads of a group. */
enum { MR_NARROW = MR, MR_DIRECT = 8 };

/* clang-format off */
#define CASES_WIDE \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2) CASE(7, 2) CASE(8, 2) \
    CASE(9, 2) CASE(10, 2) CASE(11, 2) CASE(12, 2)
#define CASES_PANEL \
    CASE(1, 1) CASE(2, 1) CASE(3, 1) CASE(4, 1) CASE(5, 1) CASE(6, 1) CASE(7, 1) CASE(8, 1) \
    CASE(9, 1) CASE(10, 1) CASE(11, 1) CASE(12, 1)
#define CASES_DIRECT \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2) CASE(7, 2) CASE(8, 2)
/* clang-format on */

#endif
