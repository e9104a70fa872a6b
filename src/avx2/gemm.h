/* The register tile that scores, values and project share. */
#ifndef HEADWISE_AVX2_GEMM_H
#define HEADWISE_AVX2_GEMM_H

#include "avx2/widen.h"

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

#include "x86/gemm.h"

#endif
