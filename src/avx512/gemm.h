/* The register tile that scores, values and project share. */
#ifndef HEADWISE_AVX512_GEMM_H
#define HEADWISE_AVX512_GEMM_H

#include "avx512/widen.h"

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

#include "x86/gemm.h"

#endif
