/* The register tile that scores, values and project share. */
#ifndef HEADWISE_NEON_GEMM_H
#define HEADWISE_NEON_GEMM_H

#include "neon/steps.h"
#include "simd/product.h"

/* a's element in the given lane, a constant at every call, with all of b. */
ALWAYS_INLINE vec multiply_add_lane(vec a, int lane, vec b, vec c) {
    switch (lane) {
    case 0:
        return vfmaq_laneq_f32(c, b, a, 0);
    case 1:
        return vfmaq_laneq_f32(c, b, a, 1);
    case 2:
        return vfmaq_laneq_f32(c, b, a, 2);
    default:
        return vfmaq_laneq_f32(c, b, a, 3);
    }
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
