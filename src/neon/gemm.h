/* The register tile that scores, values and project share. */
#ifndef HEADWISE_NEON_GEMM_H
#define HEADWISE_NEON_GEMM_H

#include "steps.h"

enum { NR_VECS = NR / LANES };

/* One panel's product. Beyond the first six, each kernel sets what its formula names. */
struct product {
    float *c;
    ptrdiff_t c_stride;
    const float *a;
    ptrdiff_t a_stride;
    const float *b;
    ptrdiff_t k;
    float scale;
    const float *alpha;
    const float *beta;
    bool resume;
    const float *bias;
};

/* Rows first ... first + rows - 1 of the product over a panel of vecs vectors. */
typedef void tile_fn(const struct product *p, ptrdiff_t first, int rows, int vecs);

/* A tile is inlined once for each number of rows, so that its accumulators are registers. */
#define TILE static inline __attribute__((always_inline)) void

/* Where chains begin that continue none; with a row stride of 0. */
static const float zeros[NR];

/* Loads a row of B and moves *b to the next. The empty statement keeps gcc from turning the loads
 * of several steps into one base with offsets, which ld1 cannot encode: so each load moves the
 * pointer itself, and 4 steps of a full tile are 74 instructions instead of 80. */
TILE load_row(vec *restrict b_row, const float **b, int vecs) {
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
    *b += vecs * LANES;
    __asm__("" : "+r"(*b));
}

/* One step of every chain: a lane of x times a row of B. */
TILE step(vec *restrict acc, const vec *restrict x, int lane, const float **b, int rows, int vecs) {
    vec b_row[NR_VECS];
    load_row(b_row, b, vecs);
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = multiply_add_lane(x[i / vecs], lane, b_row[i % vecs], acc[i]);
}

TILE four_steps(vec *restrict acc, const vec *restrict x, const float **b, int rows, int vecs) {
    UNROLLED
    for (int lane = 0; lane < LANES; lane++)
        step(acc, x, lane, b, rows, vecs);
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

/* Every accumulator takes its chain over t = 0 ... k-1, from start on, where rows have a stride. */
TILE accumulate(vec *restrict acc, const float *start, ptrdiff_t start_stride,
                const struct product *p, ptrdiff_t first, int rows, int vecs) {
    const float *b = p->b, *end8 = b + (p->k & -8) * vecs * LANES, *a[MR];
    UNROLLED
    for (int i = 0; i < rows; i++)
        a[i] = p->a + (first + i) * p->a_stride;
    if (rows == 4 && vecs == 4 && b != end8) {
        steps_of_four_rows(acc, start, start_stride, a, &b, end8);
    } else if (rows == 1 && vecs == 4 && b != end8) {
        steps_of_one_row(acc, start, a, &b, end8);
    } else {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = load(start + i / vecs * start_stride + i % vecs * LANES);
    }
    vec x[MR];
    for (const float *end = p->b + (p->k & -4) * vecs * LANES; b != end;) {
        load_four(x, a, rows);
        four_steps(acc, x, &b, rows, vecs);
    }
    for (const float *end = p->b + p->k * vecs * LANES; b != end;) {
        load_one(x, a, rows);
        step(acc, x, 0, &b, rows, vecs);
    }
}

/* clang-format off */
#define CASE(rows, vecs) case rows: tile(p, i, rows, vecs); break;
/* clang-format on */

TILE for_each_row(const struct product *p, ptrdiff_t m, int vecs, tile_fn *tile) {
    ptrdiff_t i = 0;
    for (; m - i >= MR; i += MR)
        tile(p, i, MR, vecs);
    switch (m - i) { CASE(1, vecs) CASE(2, vecs) CASE(3, vecs) }
}

TILE for_each_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile) {
    switch (n / LANES) {
    case 1:
        for_each_row(p, m, 1, tile);
        break;
    case 2:
        for_each_row(p, m, 2, tile);
        break;
    case 3:
        for_each_row(p, m, 3, tile);
        break;
    case 4:
        for_each_row(p, m, 4, tile);
        break;
    }
}

#endif
