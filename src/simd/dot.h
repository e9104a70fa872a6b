/* Exact sums of products of bytes. A file that includes this has defined before
 *   DOT_ROWS, DOT_CHAINS   rows of a tile; how many sums are in registers at most, so many of them
 *                          in several parts that the latency of an addition is hidden
 *   sums                   LANES sums;  fours: LANES times four bytes of a row;  quads: four
 *                          weights of LANES columns
 *   load_fours, load_quads, no_sums, add_products, join_sums, total_of */
#ifndef HEADWISE_SIMD_DOT_H
#define HEADWISE_SIMD_DOT_H

#include "simd/dot_end.h"

enum { DOT_VECS = NR / LANES, DOT_PARTS = 4 };

/* Bytes ahead at which a panel is asked for while its first tile reads it. */
enum { DOT_AHEAD = 4096 };

/* Four inputs, number t of them, of every row. */
DOT_TILE dot_step(sums *restrict s, const struct dot *d, const uint8_t *bytes, ptrdiff_t t,
                  int rows, int vecs) {
    const int8_t *panel = d->columns->panel + t * vecs * (4 * LANES);
    quads w[DOT_VECS];
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        w[v] = load_quads(panel + v * 4 * LANES);
        if (v * 4 * LANES % 64 == 0)
            __builtin_prefetch(panel + v * 4 * LANES + d->ahead);
    }
    UNROLLED
    for (int i = 0; i < rows; i++) {
        fours x = load_fours(bytes + i * d->rows->stride + 4 * t);
        UNROLLED
        for (int v = 0; v < vecs; v++)
            s[i * vecs + v] = add_products(s[i * vecs + v], x, w[v]);
    }
}

/* Inputs begin ... begin + k - 1, begin a multiple of four. */
DOT_TILE dot_inputs(const struct dot *d, const struct dot_group *group, ptrdiff_t begin,
                    ptrdiff_t k, ptrdiff_t first, int rows, int vecs) {
    const int chains = rows * vecs, fit = DOT_CHAINS / chains;
    const int parts = fit >= DOT_PARTS ? DOT_PARTS : fit >= 2 ? 2 : 1;
    sums s[DOT_CHAINS];
    ptrdiff_t t = begin / 4, n = t + (k + 3) / 4;
    const uint8_t *bytes = d->rows->bytes + first * d->rows->stride;
    UNROLLED
    for (int i = 0; i < parts * chains; i++)
        s[i] = no_sums();
    for (; t + parts <= n; t += parts) {
        UNROLLED
        for (int part = 0; part < parts; part++)
            dot_step(s + part * chains, d, bytes, t + part, rows, vecs);
    }
    for (; parts > 1 && t < n; t++)
        dot_step(s, d, bytes, t, rows, vecs);
    UNROLLED
    for (int i = 0; i < chains; i++) {
        UNROLLED
        for (int part = 1; part < parts; part++)
            s[i] = join_sums(s[i], s[part * chains + i]);
        dot_end(d, group, first + i / vecs, i % vecs * LANES, total_of(s[i]));
    }
}

DOT_TILE dot_tile(const struct dot *d, ptrdiff_t first, int rows, int vecs) {
    ptrdiff_t k = d->columns->k, step = d->columns->group ? d->columns->group : k;
    struct dot_group group;
    dot_first_group(&group, d);
    for (ptrdiff_t begin = 0;;) { /* once without inputs */
        dot_inputs(d, &group, begin, step < k - begin ? step : k - begin, first, rows, vecs);
        begin += step;
        if (begin >= k)
            break;
        dot_next_group(&group, d);
    }
}

#define DOT_CASE(r)                                                                                \
    case r:                                                                                        \
        if ((r) <= DOT_ROWS)                                                                       \
            dot_tile(d, first, (r) <= DOT_ROWS ? (r) : 1, vecs);                                   \
        break;

DOT_TILE dot_some(const struct dot *d, ptrdiff_t first, ptrdiff_t rows, int vecs) {
    switch (rows) {
        DOT_CASE(1)
        DOT_CASE(2)
        DOT_CASE(3)
        DOT_CASE(4)
        DOT_CASE(5)
        DOT_CASE(6)
        DOT_CASE(7)
        DOT_CASE(8)
        DOT_CASE(9)
        DOT_CASE(10)
        DOT_CASE(11)
        DOT_CASE(12)
    }
}

/* Tiles of about as many rows each. */
DOT_TILE dot_rows(struct dot *d, int vecs) {
    ptrdiff_t m = d->rows->m, tiles = (m + DOT_ROWS - 1) / DOT_ROWS;
    d->ahead = DOT_AHEAD;
    for (ptrdiff_t i = 0, rows; i < m; i += rows, tiles--) {
        rows = (m - i + tiles - 1) / tiles;
        dot_some(d, i, rows, vecs);
        d->ahead = 0;
    }
}

ALWAYS_INLINE void dot_multiply(float *y, ptrdiff_t y_stride, const struct headwise_dot_rows *rows,
                                const struct headwise_dot_columns *columns, bool resume) {
    struct dot d = {y, y_stride, rows, columns, resume, 0};
    if (columns->n == LANES)
        dot_rows(&d, 1);
    else if (columns->n == 2 * LANES)
        dot_rows(&d, 2);
    else if (DOT_VECS > 2 && columns->n == 3 * LANES)
        dot_rows(&d, DOT_VECS > 2 ? 3 : 1);
    else if (DOT_VECS > 2)
        dot_rows(&d, DOT_VECS > 2 ? 4 : 1);
}

/* The kernel and its table; inputs lie together by four. */
#define DEFINE_DOT(tier)                                                                           \
    static void multiply_bytes(float *restrict y, ptrdiff_t y_stride,                              \
                               const struct headwise_dot_rows *rows,                               \
                               const struct headwise_dot_columns *columns, bool resume) {          \
        dot_multiply(y, y_stride, rows, columns, resume);                                          \
    }                                                                                              \
    const struct headwise_dot headwise_dot_##tier = {#tier, 4, multiply_bytes, NULL, NULL};

#endif
