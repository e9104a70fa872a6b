/* The register tile that scores, values and project share. */
#ifndef HEADWISE_NEON_GEMM_H
#define HEADWISE_NEON_GEMM_H

#include "neon/widen.h"

#include "simd/product.h"

/* The inner loops of whole tiles, 16 columns wide.
 *
 * They are assembly because gcc 12 loads a row of B right before it is used, on which processors
 * that execute in order wait. Here the next row is on its way meanwhile, in v4-v7 or v0-v3 by
 * turns. scripts/neon_report.sh prints what llvm-mca thinks: on a cortex-a55 52 % of the FMA limit
 * where gcc reaches 34 %, no difference on those that reorder. */

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
static inline __attribute__((always_inline)) void
steps_of_four_rows(vec *restrict acc, const float *start, ptrdiff_t start_stride, const float **a,
                   const float **b, ptrdiff_t b_stride, const float *end) {
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

/* The same for 1 x 16, the tile of decoding. */
static inline __attribute__((always_inline)) void
steps_of_one_row(vec *restrict acc, const float *start, const float **a, const float **b,
                 ptrdiff_t b_stride, const float *end) {
    register vec c0 __asm__("v16"), c1 __asm__("v17"), c2 __asm__("v18"), c3 __asm__("v19");
    __asm__("ld1 {v16.4s - v19.4s}, [%[start]]\n" UNTIL_END(ONE_ROW_EIGHT_STEPS)
            : "=w"(c0), "=w"(c1), "=w"(c2), "=w"(c3), [a] "+&r"(a[0]), [b] "+&r"(*b)
            : [start] "r"(start), [end] "r"(end), [row] "r"(b_stride * (ptrdiff_t)sizeof(float))
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v20", "v21", "cc", "memory");
    acc[0] = c0, acc[1] = c1, acc[2] = c2, acc[3] = c3;
}

enum { NR_VECS = NR / LANES };

/* Rows first ... first + rows - 1 of the product over a panel of vecs vectors. */
typedef void tile_fn(const struct product *p, ptrdiff_t first, int rows, int vecs,
                     enum element element);

/* Where chains begin that continue none; with a row stride of 0. */
static const float zeros[NR];

/* Loads a row of B and moves *b to the next. The empty statement keeps gcc from turning the loads
 * of several steps into one base with offsets, which ld1 cannot encode: so each load moves the
 * pointer itself, and 4 steps of a full tile are 74 instructions instead of 80. */
TILE load_row_f32(vec *restrict b_row, const float **b, ptrdiff_t b_stride, int vecs) {
    if (vecs == 4) {
        float32x4x4_t row = vld1q_f32_x4(*b);
        UNROLLED
        for (int v = 0; v < 4; v++)
            b_row[v] = row.val[v];
    } else if (vecs == 2) {
        float32x4x2_t row = vld1q_f32_x2(*b);
        b_row[0] = row.val[0];
        b_row[1] = row.val[1];
    } else {
        UNROLLED
        for (int v = 0; v < vecs; v++)
            b_row[v] = load(*b + v * LANES);
    }
    *b += b_stride;
    __asm__("" : "+r"(*b));
}

TILE load_row_halves(vec *restrict b_row, const uint16_t *b, int vecs, enum element element) {
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        halves x = load_halves(b + v * LANES);
        b_row[v] = element == F16 ? widen_f16(x) : widen_bf16(x);
    }
}

/* Whole registers of 16 integers where the panel has them. */
TILE load_row_integers(vec *restrict b_row, const int8_t *b, int vecs) {
    if (vecs < 4) {
        UNROLLED
        for (int v = 0; v < vecs; v++)
            b_row[v] = load_integers(b + v * LANES);
        return;
    }
    int8x16_t bytes = vld1q_s8(b);
    int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    b_row[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
    b_row[1] = vcvtq_f32_s32(vmovl_high_s16(low));
    b_row[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
    b_row[3] = vcvtq_f32_s32(vmovl_high_s16(high));
}

/* Row t of a narrow panel. */
TILE load_row(vec *restrict b_row, const struct product *p, ptrdiff_t t, int vecs,
              enum element element) {
    ptrdiff_t at = t * vecs * LANES;
    if (element == F16 || element == BF16)
        load_row_halves(b_row, (const uint16_t *)(const void *)p->b + at, vecs, element);
    else
        load_row_integers(b_row, (const int8_t *)p->b + at, vecs);
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        if (element == KEYS_I8)
            b_row[v] = multiply(b_row[v], load(p->scales + (t / HEADWISE_SCALE_GROUP * vecs + v) *
                                                               (ptrdiff_t)LANES));
        if (element == VALUES_I8)
            b_row[v] = multiply(b_row[v], broadcast(p->scales[t]));
    }
}

/* One step of every chain: a lane of x times a row of B. */
TILE step(vec *restrict acc, const vec *restrict x, int lane, const vec *restrict b_row, int rows,
          int vecs) {
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = multiply_add_lane(x[i / vecs], lane, b_row[i % vecs], acc[i]);
}

TILE load_four(vec *restrict x, const float **a, int rows) {
    UNROLLED
    for (int i = 0; i < rows; i++) {
        x[i] = load(a[i]);
        a[i] += LANES;
    }
}

TILE load_one(vec *restrict x, const float **a, int rows) {
    UNROLLED
    for (int i = 0; i < rows; i++)
        x[i] = broadcast(*a[i]++);
}

TILE accumulate_f32(vec *restrict acc, const float *start, ptrdiff_t start_stride,
                    const struct product *p, const float **a, int rows, int vecs) {
    const ptrdiff_t stride = p->row_stride;
    const float *first = (const float *)(const void *)p->b, *b = first;
    const float *end8 = b + (p->k & -8) * stride;
    if (rows == 4 && vecs == 4 && b != end8) {
        steps_of_four_rows(acc, start, start_stride, a, &b, stride, end8);
    } else if (rows == 1 && vecs == 4 && b != end8) {
        steps_of_one_row(acc, start, a, &b, stride, end8);
    } else {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = load(start + i / vecs * start_stride + i % vecs * LANES);
    }
    vec x[MR], b_row[NR_VECS];
    for (const float *end = first + (p->k & -4) * stride; b != end;) {
        load_four(x, a, rows);
        UNROLLED
        for (int lane = 0; lane < LANES; lane++) {
            load_row_f32(b_row, &b, stride, vecs);
            step(acc, x, lane, b_row, rows, vecs);
        }
    }
    for (const float *end = first + p->k * stride; b != end;) {
        load_one(x, a, rows);
        load_row_f32(b_row, &b, stride, vecs);
        step(acc, x, 0, b_row, rows, vecs);
    }
}

/* Every accumulator takes its chain over t = 0 ... k-1, from start on, where rows have a stride. */
TILE accumulate(vec *restrict acc, const float *start, ptrdiff_t start_stride,
                const struct product *p, ptrdiff_t first, int rows, int vecs,
                enum element element) {
    const float *a[MR];
    UNROLLED
    for (int i = 0; i < rows; i++)
        a[i] = p->a + (first + i) * p->a_stride;
    if (element == F32) {
        accumulate_f32(acc, start, start_stride, p, a, rows, vecs);
        return;
    }
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = load(start + i / vecs * start_stride + i % vecs * LANES);
    vec x[MR], b_row[NR_VECS];
    ptrdiff_t t = 0;
    for (; t < (p->k & -4); t += LANES) {
        load_four(x, a, rows);
        UNROLLED
        for (int lane = 0; lane < LANES; lane++) {
            load_row(b_row, p, t + lane, vecs, element);
            step(acc, x, lane, b_row, rows, vecs);
        }
    }
    for (; t < p->k; t++) {
        load_one(x, a, rows);
        load_row(b_row, p, t, vecs, element);
        step(acc, x, 0, b_row, rows, vecs);
    }
}

/* clang-format off */
#define CASE(rows, vecs) case rows: tile(p, i, rows, vecs, element); break;
/* clang-format on */

TILE for_each_row(const struct product *p, ptrdiff_t m, int vecs, tile_fn *tile,
                  enum element element) {
    ptrdiff_t i = 0;
    for (; m - i >= MR; i += MR)
        tile(p, i, MR, vecs, element);
    switch (m - i) { CASE(1, vecs) CASE(2, vecs) CASE(3, vecs) }
}

/* m rows against one panel of n columns. */
TILE for_each_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile,
                   enum element element) {
    switch (n / LANES) {
    case 1:
        for_each_row(p, m, 1, tile, element);
        break;
    case 2:
        for_each_row(p, m, 2, tile, element);
        break;
    case 3:
        for_each_row(p, m, 3, tile, element);
        break;
    case 4:
        for_each_row(p, m, 4, tile, element);
        break;
    }
}

/* All n columns. */
TILE for_each_panel(struct product *p, ptrdiff_t m, ptrdiff_t n, tile_fn *tile,
                    enum element element) {
    for (ptrdiff_t j = 0, width; j < n; j += width) {
        width = n < NR ? n : NR;
        for_each_tile(p, m, (int)width, tile, element);
        next_columns(p, j, width, element);
    }
}

#endif
