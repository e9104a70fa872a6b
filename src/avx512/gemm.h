/* The register tile that scores, values and project share. */
#ifndef HEADWISE_AVX512_GEMM_H
#define HEADWISE_AVX512_GEMM_H

#include "widen.h"

/* Rows of a tile one vector wide: as many accumulators as MR rows two vectors wide. Most rows of a
 * tile that widens as it goes: enough for the query heads of a group. */
enum { MR_NARROW = 2 * MR, MR_DIRECT = 8 };

/* Bytes between what is read of the panel and what is prefetched. A panel that comes from memory is
 * read up to 80 % faster by tiles of 1 to 12 rows. One in cache is read up to 2 % slower, of which
 * unrolling the loop twice wins back half. */
enum { AHEAD = 4096 };

/* What the elements of a panel are and which scales they have: a constant in every tile. */
enum element { F32, F16, BF16, I8, KEYS_I8, VALUES_I8 };

/* One panel's product. Beyond the first six, each kernel sets what its formula names. */
struct product {
    float *c;
    ptrdiff_t c_stride;
    const float *a;
    ptrdiff_t a_stride;
    const void *b;
    ptrdiff_t k;
    const float *scales;
    float scale;
    const float *alpha;
    const float *beta;
    bool resume;
    const float *bias;
};

/* Rows first ... first + rows - 1 of the product over a panel of vecs vectors. */
typedef void tile_fn(const struct product *p, ptrdiff_t first, int rows, int vecs,
                     enum element element);

/* A tile is inlined once for each number of rows, so that its accumulators are registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define TILE ALWAYS_INLINE void

ALWAYS_INLINE int element_bytes(enum element element) {
    return element == F32 ? 4 : element == F16 || element == BF16 ? 2 : 1;
}

ALWAYS_INLINE vec load_elements(const char *b, enum element element) {
    const void *p = b;
    switch (element) {
    case F32:
        return load(p);
    case F16:
        return widen_f16(load_halves(p));
    case BF16:
        return widen_bf16(load_halves(p));
    default:
        return load_integers(p);
    }
}

/* One row of the panel. column_scales: KEYS_I8 only; row_scale: VALUES_I8 only. */
TILE load_row(vec *restrict b_row, const char *b, const vec *column_scales, const float *row_scale,
              int rows, int vecs, enum element element) {
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        b_row[v] = load_elements(b + v * LANES * element_bytes(element), element);
        if (element == KEYS_I8)
            b_row[v] = multiply(b_row[v], column_scales[v]);
        if (element == VALUES_I8)
            b_row[v] = multiply(b_row[v], broadcast(*row_scale));
        if (rows > 1)
            keep_in_register(&b_row[v]);
    }
}

/* The steps t ... t + k - 1 of every chain. base moves on with t. Four rows share a base register:
 * one base for all would leave gcc a multiple of the stride to keep, or to spill, for every row. */
TILE steps(vec *restrict acc, const float **base, const struct product *p, ptrdiff_t t, ptrdiff_t k,
           int rows, int vecs, enum element element) {
    const int row_bytes = vecs * LANES * element_bytes(element);
    const char *b = (const char *)p->b + t * row_bytes;
    vec column_scales[2];
    UNROLLED
    for (int v = 0; v < vecs && element == KEYS_I8; v++)
        column_scales[v] =
            load(p->scales + (t / HEADWISE_SCALE_GROUP * vecs + v) * (ptrdiff_t)LANES);
#pragma GCC unroll 2
    for (ptrdiff_t end = t + k; t < end; t++) {
        vec b_row[2];
        load_row(b_row, b, column_scales, element == VALUES_I8 ? p->scales + t : NULL, rows, vecs,
                 element);
        for (int j = 0; j < row_bytes; j += 64)
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
        b += row_bytes;
    }
}

/* Every accumulator continues its chain over t = 0 ... k-1. */
TILE accumulate(vec *restrict acc, const struct product *p, ptrdiff_t first, int rows, int vecs,
                enum element element) {
    const float *base[MR_NARROW / 4];
    UNROLLED
    for (int g = 0; 4 * g < rows; g++) {
        base[g] = p->a + (first + 4 * g) * p->a_stride;
        __asm__("" : "+r"(base[g]));
    }
    if (element != KEYS_I8) {
        steps(acc, base, p, 0, p->k, rows, vecs, element);
        return;
    }
    for (ptrdiff_t t = 0; t < p->k; t += HEADWISE_SCALE_GROUP) {
        ptrdiff_t left = p->k - t;
        steps(acc, base, p, t, left < HEADWISE_SCALE_GROUP ? left : HEADWISE_SCALE_GROUP, rows,
              vecs, element);
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
#define CASE(rows, vecs) case rows: tile(p, i, rows, vecs, element); break;
#define CASES_WIDE \
    CASE(1, 2) CASE(2, 2) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2) \
    CASE(7, 2) CASE(8, 2) CASE(9, 2) CASE(10, 2) CASE(11, 2) CASE(12, 2)
#define CASES_NARROW \
    CASE(1, 1) CASE(2, 1) CASE(3, 1) CASE(4, 1) CASE(5, 1) CASE(6, 1) \
    CASE(7, 1) CASE(8, 1) CASE(9, 1) CASE(10, 1) CASE(11, 1) CASE(12, 1) \
    CASE(13, 1) CASE(14, 1) CASE(15, 1) CASE(16, 1) CASE(17, 1) CASE(18, 1) \
    CASE(19, 1) CASE(20, 1) CASE(21, 1) CASE(22, 1) CASE(23, 1) CASE(24, 1)
#define CASES_DIRECT(vecs) \
    CASE(1, vecs) CASE(2, vecs) CASE(3, vecs) CASE(4, vecs) CASE(5, vecs) CASE(6, vecs) \
    CASE(7, vecs) CASE(8, vecs)
/* clang-format on */

TILE for_each_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile,
                   enum element element) {
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

/* The same with the smaller tiles of narrow elements, which meet few rows. */
TILE for_each_direct_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile,
                          enum element element) {
    for (ptrdiff_t i = 0, rows; i < m; i += rows) {
        rows = tile_rows(m - i, MR_DIRECT);
        if (n == NR) {
            switch (rows) { CASES_DIRECT(2) }
        } else {
            switch (rows) { CASES_DIRECT(1) }
        }
    }
}

#endif
