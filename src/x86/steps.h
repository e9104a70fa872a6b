/* The register tile of the x86 tiers: its chains, step by step. */
#ifndef HEADWISE_STEPS_H
#define HEADWISE_STEPS_H

#include "simd/product.h"
#include "tile.h"
#include "x86/prefetch.h"

/* Bytes between what is read and what tiles of fewer than MR rows prefetch: of a panel, and of
 * several that are gone through at once, all together. What comes from memory is read up to 40 %
 * faster; what lies in the L2 cache up to 10 % slower. */
enum { AHEAD = 4096, AHEAD_TOGETHER = 8192 };

/* How the rows of A lie: each on its own, or those of a tile step by step. In the last two forms
 * what follows the panel of B in memory is read next; there are many tiles, or few, to ask for it.
 */
enum form { ROWS, PANEL, PANEL_CONTINUES, PANEL_CONTINUES_SOON };

/* Rows first ... first + rows - 1 of the product over vecs vectors: one panel, or several of NR. */
typedef void tile_fn(const struct product *p, ptrdiff_t first, int rows, int vecs,
                     enum element element, enum form form);

/* Panels that a tile goes through at once, and vectors of one of them. */
enum { MOST_PANELS = 4, PANEL_VECS = NR / LANES };

ALWAYS_INLINE int panels_of(int vecs) {
    return vecs > PANEL_VECS ? vecs / PANEL_VECS : 1;
}

ALWAYS_INLINE int panel_vecs(int vecs) {
    return vecs > PANEL_VECS ? PANEL_VECS : vecs;
}

ALWAYS_INLINE vec load_elements(const char *b, enum element element) {
    const void *p = b;
    switch (element) {
    case F32:
    case F32_ROWS:
        return load(p);
    case F16:
        return widen_f16(load_halves(p));
    case BF16:
        return widen_bf16(load_halves(p));
    default:
        return load_integers(p);
    }
}

/* Bytes from one row of a panel to the next. */
ALWAYS_INLINE ptrdiff_t row_bytes_of(const struct product *p, int vecs, enum element element) {
    return element == F32_ROWS ? p->row_stride * 4
                               : panel_vecs(vecs) * LANES * element_bytes(element);
}

/* The row of the panels that is `at` bytes from b. column_scales: KEYS_I8 only; row_scales:
 * VALUES_I8 only. */
TILE load_row(vec *restrict b_row, const struct product *p, const char *const *b, ptrdiff_t at,
              const vec *column_scales, const float *row_scales, int rows, int vecs,
              enum element element) {
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        int in_panel = v % PANEL_VECS * LANES * element_bytes(element);
        b_row[v] = load_elements(b[v / PANEL_VECS] + at + in_panel, element);
        if (element == KEYS_I8)
            b_row[v] = multiply(b_row[v], column_scales[v]);
        if (element == VALUES_I8)
            b_row[v] = multiply(
                b_row[v],
                broadcast(row_scales[v * LANES / HEADWISE_SCALE_GROUP * p->scales_stride]));
        if (rows > 1)
            keep_in_register(&b_row[v]);
    }
}

/* Rows of A that share a base register in the form ROWS, the others at strides from it. Two share
 * one stride: with four, gcc spills avx2's strides, and attention takes 3 % longer. One base for
 * all would leave it a multiple of the stride to keep, or to spill, for every row. */
ALWAYS_INLINE int rows_per_base(int vecs) {
    return vecs == 2 ? 2 : 4;
}

ALWAYS_INLINE int count_bases(int rows, int vecs, enum form form) {
    return form != ROWS ? 1 : (rows + rows_per_base(vecs) - 1) / rows_per_base(vecs);
}

/* Whether the FMA itself broadcasts the row's element. That saves an instruction where one or two
 * FMAs use the element, but not where its address has an index. Two loads for two FMAs in every
 * row would be more than the load ports give. Where another thread takes half of the core's issue
 * slots, 33 (PANEL) or 35 (ROWS) instead of 41 instructions for 24 FMAs are 15 or 8 % faster. */
ALWAYS_INLINE bool is_broadcast_in_place(int row, int vecs, enum form form) {
    if (!BROADCASTS_IN_PLACE || vecs > 2)
        return false;
    return form != ROWS ? vecs == 1 || row % 2 == 0 : row % rows_per_base(vecs) == 0;
}

/* Steps that one turn of the loop takes: bases move on once in a turn. */
ALWAYS_INLINE int steps_per_turn(enum element element) {
    return element == F32 || element == F32_ROWS ? 4 : 2;
}

/* Step u of a turn, with a row of the panel in b_row. */
TILE take_step(vec *restrict acc, const float *const *base, ptrdiff_t a_stride,
               const vec *restrict b_row, int u, int rows, int vecs, enum form form) {
    UNROLLED
    for (int i = 0; i < rows; i++) {
        const float *a =
            form != ROWS ? base[0] + u * rows + i
                         : base[i / rows_per_base(vecs)] + i % rows_per_base(vecs) * a_stride + u;
        if (is_broadcast_in_place(i, vecs, form)) {
            UNROLLED
            for (int v = 0; v < vecs; v++)
                multiply_broadcast_to(&acc[i * vecs + v], a, b_row[v]);
            continue;
        }
        vec x = broadcast(*a);
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            if (rows > 1)
                multiply_add_to(&acc[i * vecs + v], x, b_row[v]);
            else /* the FMA itself may read the panel */
                acc[v] = multiply_add(x, b_row[v], acc[v]);
        }
    }
}

/* The empty statement keeps gcc from counting all bases with one index. */
TILE advance(const float **base, int n, ptrdiff_t floats) {
    UNROLLED
    for (int g = 0; g < n; g++) {
        base[g] += floats;
        __asm__("" : "+r"(base[g]));
    }
}

/* Fetches the lines of a turn's rows that lie ahead: in the same panels, or, past their end, in
 * those that the next tile goes through. */
TILE prefetch_turn(const struct product *p, const char *const *b, int vecs, enum element element) {
    const ptrdiff_t row_bytes = row_bytes_of(p, vecs, element);
    const int turn = steps_per_turn(element), panels = panels_of(vecs);
    const int line = panel_vecs(vecs) * LANES * element_bytes(element);
    const int distance = panels > 1 ? AHEAD_TOGETHER / panels : AHEAD;
    ptrdiff_t ahead = element == F32_ROWS ? distance / line * row_bytes : distance;
    if ((panels > 1 || element == F32_ROWS) && b[0] - p->b >= p->k * row_bytes - ahead)
        ahead += panels * p->panel_bytes - p->k * row_bytes;
    UNROLLED
    for (int i = 0; i < panels; i++) {
        UNROLLED
        for (int u = 0; u < turn && element == F32_ROWS; u++) {
            for (int j = 0; j < line; j += 64)
                prefetch(b[i] + ahead + u * row_bytes + j);
        }
        for (int j = 0; j < turn * line && element != F32_ROWS; j += 64)
            prefetch(b[i] + ahead + j);
    }
}

/* Lines of a turn's rows of a whole panel of f32: as many full tiles that ask for one in each turn
 * ask for all of what follows the panel. */
enum { TURN_LINES = 4 * NR * 4 / 64 };

/* What each of m / MR full tiles asks for in a turn, in bytes. Weights lie in the L3 cache or in
 * memory: layers of 512 rows, 768 and 2048 wide, are 6 % faster for it; projections of 20 to 64
 * rows, where few tiles ask for several lines each, 3 to 13 %. */
static inline ptrdiff_t follow_bytes(ptrdiff_t m) {
    ptrdiff_t tiles = m < MR ? 1 : m / MR;
    return tiles >= TURN_LINES ? 64 : (TURN_LINES + tiles - 1) / tiles * 64;
}

/* Bytes from what a full tile reads of the panel to what it asks for meanwhile. */
ALWAYS_INLINE ptrdiff_t distance_ahead(const struct product *p, ptrdiff_t first, int vecs) {
    const ptrdiff_t row_bytes = vecs * LANES * (ptrdiff_t)sizeof(float);
    return p->k * row_bytes + first / MR * p->follow_bytes % (TURN_LINES * 64);
}

/* Asks for what follows: one line, or several. */
TILE prefetch_what_follows(const struct product *p, const char *b, enum form form) {
    prefetch_to_l2(b);
    for (ptrdiff_t i = 64; form == PANEL_CONTINUES_SOON && i < p->follow_bytes; i += 64)
        prefetch_to_l2(b + i);
}

/* The steps t ... t + k - 1 of every chain. base moves on with t. ahead: distance_ahead, or 0. */
TILE steps(vec *restrict acc, const float **base, const struct product *p, ptrdiff_t t, ptrdiff_t k,
           int rows, int vecs, enum element element, enum form form, ptrdiff_t ahead) {
    const ptrdiff_t row_bytes = row_bytes_of(p, vecs, element);
    const int turn = steps_per_turn(element), panels = panels_of(vecs);
    const int n_bases = count_bases(rows, vecs, form), floats = form != ROWS ? rows : 1;
    const float *row_scales = element == VALUES_I8 ? p->scales + t : NULL;
    const char *b[MOST_PANELS];
    vec column_scales[MOST_PANELS * PANEL_VECS], b_row[MOST_PANELS * PANEL_VECS];
    UNROLLED
    for (int i = 0; i < panels; i++)
        b[i] = p->b + i * p->panel_bytes + t * row_bytes;
    UNROLLED
    for (int v = 0; v < vecs && element == KEYS_I8; v++)
        column_scales[v] =
            load(p->scales + v / PANEL_VECS * p->scales_stride +
                 (t / HEADWISE_SCALE_GROUP * panel_vecs(vecs) + v % PANEL_VECS) * (ptrdiff_t)LANES);
    for (; k >= turn; k -= turn) {
        UNROLLED
        for (int u = 0; u < turn; u++) {
            load_row(b_row, p, b, u * row_bytes, column_scales,
                     element == VALUES_I8 ? row_scales + u : NULL, rows, vecs, element);
            take_step(acc, base, p->a_stride, b_row, u, rows, vecs, form);
        }
        if (rows < MR)
            prefetch_turn(p, b, vecs, element);
        if (rows == MR && (form == PANEL_CONTINUES || form == PANEL_CONTINUES_SOON))
            prefetch_what_follows(p, b[0] + ahead, form);
        advance(base, n_bases, turn * floats);
        UNROLLED
        for (int i = 0; i < panels; i++)
            b[i] += turn * row_bytes;
        row_scales += element == VALUES_I8 ? turn : 0;
    }
    for (; k > 0; k--) {
        load_row(b_row, p, b, 0, column_scales, row_scales, rows, vecs, element);
        take_step(acc, base, p->a_stride, b_row, 0, rows, vecs, form);
        advance(base, n_bases, floats);
        UNROLLED
        for (int i = 0; i < panels; i++)
            b[i] += row_bytes;
        row_scales += element == VALUES_I8;
    }
}

/* Every accumulator continues its chain over t = 0 ... k-1. */
TILE accumulate(vec *restrict acc, const struct product *p, ptrdiff_t first, int rows, int vecs,
                enum element element, enum form form) {
    const float *base[MR / 2];
    UNROLLED
    for (int g = 0; g < count_bases(rows, vecs, form); g++)
        base[g] = p->a + (first + rows_per_base(vecs) * g) * p->a_stride;
    if (element != KEYS_I8) {
        steps(acc, base, p, 0, p->k, rows, vecs, element, form, distance_ahead(p, first, vecs));
        return;
    }
    for (ptrdiff_t t = 0; t < p->k; t += HEADWISE_SCALE_GROUP) {
        ptrdiff_t left = p->k - t;
        steps(acc, base, p, t, left < HEADWISE_SCALE_GROUP ? left : HEADWISE_SCALE_GROUP, rows,
              vecs, element, form, 0);
    }
}

#endif
