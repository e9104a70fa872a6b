/* The register tile that scores, values and project share. */
#ifndef HEADWISE_AVX512_GEMM_H
#define HEADWISE_AVX512_GEMM_H

#include "vec.h"

/* Rows of a tile one vector wide: as many accumulators as MR rows two vectors wide. */
enum { MR_NARROW = 2 * MR };

/* Floats between what is read of the panel and what is prefetched: 4 KiB. A panel that comes from
 * memory is read up to 80 % faster by tiles of 1 to 12 rows. One in cache is read up to 2 % slower,
 * of which unrolling the loop twice wins back half. */
enum { AHEAD = 1024 };

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

/* Every accumulator continues its chain over t = 0 ... k-1. Four rows share a base register: one
 * base for all would leave gcc a multiple of the stride to keep, or to spill, for every row. */
TILE accumulate(vec *restrict acc, const struct product *p, ptrdiff_t first, int rows, int vecs) {
    const float *base[MR_NARROW / 4];
    UNROLLED
    for (int g = 0; 4 * g < rows; g++) {
        base[g] = p->a + (first + 4 * g) * p->a_stride;
        __asm__("" : "+r"(base[g]));
    }
    const float *b = p->b;
#pragma GCC unroll 2
    for (ptrdiff_t t = 0; t < p->k; t++) {
        vec b_row[2];
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            b_row[v] = load(b + v * LANES);
            if (rows > 1)
                keep_in_register(&b_row[v]);
        }
        for (int j = 0; j < vecs * LANES; j += 16)
            prefetch(b + AHEAD + j);
        UNROLLED
        for (int i = 0; i < rows; i++) {
            vec x = broadcast(base[i / 4][i % 4 * p->a_stride]);
            UNROLLED
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] = multiply_add(x, b_row[v], acc[i * vecs + v]);
        }
        UNROLLED
        for (int g = 0; 4 * g < rows; g++)
            base[g]++;
        b += vecs * LANES;
    }
}

/* Full tiles while there are two or more, then the rest in halves: 13 rows are 7 and 6, not 12 and
 * a single one that waits for the latency of its chains. */
static inline int tile_rows(ptrdiff_t rows_left, int max_rows) {
    if (rows_left >= 2 * max_rows)
        return max_rows;
    return (int)(rows_left > max_rows ? (rows_left + 1) / 2 : rows_left);
}

/* clang-format off */
#define CASE(rows, vecs) case rows: tile(p, i, rows, vecs); break;
#define CASES_WIDE \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2) \
    CASE(7, 2) CASE(8, 2) CASE(9, 2) CASE(10, 2) CASE(11, 2) CASE(12, 2)
#define CASES_NARROW \
    CASE(1, 1) CASE(2, 1) CASE(3, 1) CASE(4, 1) CASE(5, 1) CASE(6, 1) \
    CASE(7, 1) CASE(8, 1) CASE(9, 1) CASE(10, 1) CASE(11, 1) CASE(12, 1) \
    CASE(13, 1) CASE(14, 1) CASE(15, 1) CASE(16, 1) CASE(17, 1) CASE(18, 1) \
    CASE(19, 1) CASE(20, 1) CASE(21, 1) CASE(22, 1) CASE(23, 1) CASE(24, 1)
/* clang-format on */

TILE for_each_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile) {
    int max_rows = n == NR ? MR : MR_NARROW;
    for (ptrdiff_t i = 0, rows; i < m; i += rows) {
        rows = tile_rows(m - i, max_rows);
        if (n == NR) {
            switch (rows) { CASES_WIDE }
        } else {
            switch (rows) { CASES_NARROW }
        }
    }
}

#endif
