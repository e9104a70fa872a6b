/* The inner loops of whole tiles, 16 columns wide.
 *
 * They are assembly because gcc 12 loads a row of B right before it is used, on which processors
 * that execute in order wait. Here the next row is on its way meanwhile, in v4-v7 or v0-v3 by
 * turns. scripts/neon_report.sh prints what llvm-mca thinks: on a cortex-a55 52 % of the FMA limit
 * where gcc reaches 34 %, no difference on those that reorder. */
#ifndef HEADWISE_NEON_STEPS_H
#define HEADWISE_NEON_STEPS_H

#include "vec.h"

/* clang-format off */
#define FMLA_ROW(c0, c1, c2, c3, b0, b1, b2, b3, x, lane) \
    "fmla v" #c0 ".4s, v" #b0 ".4s, v" #x ".s[" #lane "]\n\t" \
    "fmla v" #c1 ".4s, v" #b1 ".4s, v" #x ".s[" #lane "]\n\t" \
    "fmla v" #c2 ".4s, v" #b2 ".4s, v" #x ".s[" #lane "]\n\t" \
    "fmla v" #c3 ".4s, v" #b3 ".4s, v" #x ".s[" #lane "]\n\t"
#define FMLA_ROWS(b0, b1, b2, b3, x0, x1, x2, x3, lane) \
    FMLA_ROW(16, 17, 18, 19, b0, b1, b2, b3, x0, lane) \
    FMLA_ROW(20, 21, 22, 23, b0, b1, b2, b3, x1, lane) \
    FMLA_ROW(24, 25, 26, 27, b0, b1, b2, b3, x2, lane) \
    FMLA_ROW(28, 29, 30, 31, b0, b1, b2, b3, x3, lane)
#define LOAD_EVEN "ld1 {v0.4s - v3.4s}, [%[b]], %[row]\n\t"
#define LOAD_ODD "ld1 {v4.4s - v7.4s}, [%[b]], %[row]\n\t"

#define FOUR_EVEN(x0, x1, x2, x3, lane) FMLA_ROWS(0, 1, 2, 3, x0, x1, x2, x3, lane)
#define FOUR_ODD(x0, x1, x2, x3, lane) FMLA_ROWS(4, 5, 6, 7, x0, x1, x2, x3, lane)
#define FOUR_ROWS_EIGHT_STEPS \
    LOAD_EVEN \
    "ldp q8, q9, [%[a0]], #32\n\t" \
    "ldp q10, q11, [%[a1]], #32\n\t" \
    "ldp q12, q13, [%[a2]], #32\n\t" \
    "ldp q14, q15, [%[a3]], #32\n\t" \
    LOAD_ODD FOUR_EVEN(8, 10, 12, 14, 0) LOAD_EVEN FOUR_ODD(8, 10, 12, 14, 1) \
    LOAD_ODD FOUR_EVEN(8, 10, 12, 14, 2) LOAD_EVEN FOUR_ODD(8, 10, 12, 14, 3) \
    LOAD_ODD FOUR_EVEN(9, 11, 13, 15, 0) LOAD_EVEN FOUR_ODD(9, 11, 13, 15, 1) \
    LOAD_ODD FOUR_EVEN(9, 11, 13, 15, 2) FOUR_ODD(9, 11, 13, 15, 3)

#define ONE_EVEN(x, lane) FMLA_ROW(16, 17, 18, 19, 0, 1, 2, 3, x, lane)
#define ONE_ODD(x, lane) FMLA_ROW(16, 17, 18, 19, 4, 5, 6, 7, x, lane)
#define ONE_ROW_EIGHT_STEPS \
    LOAD_EVEN \
    "ldp q20, q21, [%[a]], #32\n\t" \
    LOAD_ODD ONE_EVEN(20, 0) LOAD_EVEN ONE_ODD(20, 1) LOAD_ODD ONE_EVEN(20, 2) \
    LOAD_EVEN ONE_ODD(20, 3) LOAD_ODD ONE_EVEN(21, 0) LOAD_EVEN ONE_ODD(21, 1) \
    LOAD_ODD ONE_EVEN(21, 2) ONE_ODD(21, 3)

#define UNTIL_END(steps) \
    "1:\n\t" \
    steps \
    "cmp %[b], %[end]\n\t" \
    "b.ne 1b"
/* clang-format on */

/* Steps of the chains of 4 x 16 from start on, a matrix with a row stride, until b is end; a
 * multiple of 8 steps, not 0. Moves a and b on. */
ALWAYS_INLINE void steps_of_four_rows(vec *restrict acc, const float *start, ptrdiff_t start_stride,
                                      const float **a, const float **b, ptrdiff_t b_stride,
                                      const float *end) {
    register vec c0 __asm__("v16"), c1 __asm__("v17"), c2 __asm__("v18"), c3 __asm__("v19");
    register vec c4 __asm__("v20"), c5 __asm__("v21"), c6 __asm__("v22"), c7 __asm__("v23");
    register vec c8 __asm__("v24"), c9 __asm__("v25"), c10 __asm__("v26"), c11 __asm__("v27");
    register vec c12 __asm__("v28"), c13 __asm__("v29"), c14 __asm__("v30"), c15 __asm__("v31");
    __asm__(
        "mov x9, %[start]\n\t" /* an asm has at most 30 operands, one changed counts twice */
        "ld1 {v16.4s - v19.4s}, [x9], %[stride]\n\t"
        "ld1 {v20.4s - v23.4s}, [x9], %[stride]\n\t"
        "ld1 {v24.4s - v27.4s}, [x9], %[stride]\n\t"
        "ld1 {v28.4s - v31.4s}, [x9]\n" UNTIL_END(FOUR_ROWS_EIGHT_STEPS)
        : "=w"(c0), "=w"(c1), "=w"(c2), "=w"(c3), "=w"(c4), "=w"(c5), "=w"(c6), "=w"(c7), "=w"(c8),
          "=w"(c9), "=w"(c10), "=w"(c11), "=w"(c12), "=w"(c13), "=w"(c14), "=w"(c15),
          [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [b] "+&r"(*b)
        : [start] "r"(start), [end] "r"(end), [stride] "r"(start_stride * (ptrdiff_t)sizeof(float)),
          [row] "r"(b_stride * (ptrdiff_t)sizeof(float))
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "x9", "cc", "memory");
    acc[0] = c0, acc[1] = c1, acc[2] = c2, acc[3] = c3;
    acc[4] = c4, acc[5] = c5, acc[6] = c6, acc[7] = c7;
    acc[8] = c8, acc[9] = c9, acc[10] = c10, acc[11] = c11;
    acc[12] = c12, acc[13] = c13, acc[14] = c14, acc[15] = c15;
}

/* Steps of the chains of 1 x 16, the tile of decoding. */
ALWAYS_INLINE void steps_of_one_row(vec *restrict acc, const float *start, const float **a,
                                    const float **b, ptrdiff_t b_stride, const float *end) {
    register vec c0 __asm__("v16"), c1 __asm__("v17"), c2 __asm__("v18"), c3 __asm__("v19");
    __asm__("ld1 {v16.4s - v19.4s}, [%[start]]\n" UNTIL_END(ONE_ROW_EIGHT_STEPS)
            : "=w"(c0), "=w"(c1), "=w"(c2), "=w"(c3), [a] "+&r"(a[0]), [b] "+&r"(*b)
            : [start] "r"(start), [end] "r"(end), [row] "r"(b_stride * (ptrdiff_t)sizeof(float))
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v20", "v21", "cc", "memory");
    acc[0] = c0, acc[1] = c1, acc[2] = c2, acc[3] = c3;
}

#endif
