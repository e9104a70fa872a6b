/* How products of the x86 tiers go through rows and panels in tiles, which scores, values and
 * project share. */
#ifndef HEADWISE_X86_GEMM_H
#define HEADWISE_X86_GEMM_H

#include "x86/steps.h"

/* Full tiles while there are two or more, then the rest in halves: 13 rows are 7 and 6, not 12 and
 * a single one that waits for the latency of its chains. */
static inline int tile_rows(ptrdiff_t rows_left, int max_rows) {
    if (rows_left >= 2 * max_rows)
        return max_rows;
    return (int)(rows_left > max_rows ? (rows_left + 1) / 2 : rows_left);
}

/* Heights of tiles where few of them make less code: 1, 2, 4 and max_rows. */
static inline int coarse_rows(ptrdiff_t rows_left, int max_rows) {
    return rows_left >= max_rows ? max_rows : rows_left >= 4 ? 4 : rows_left >= 2 ? 2 : 1;
}

#define CASE(rows, vecs)                                                                           \
    case rows:                                                                                     \
        tile(p, i, rows, vecs, element, form);                                                     \
        break;

/* Panels that tiles of m plain rows go through at once: fewer than 8 chains would wait for the
 * latency of their FMAs. */
ALWAYS_INLINE int panels_at_once(ptrdiff_t m, ptrdiff_t n) {
    if (m == 1 && n >= 4 * NR)
        return 4;
    return m <= 2 && n >= 2 * NR ? 2 : 1;
}

/* As many panels for one or two plain rows. */
TILE run_panels(const struct product *p, ptrdiff_t m, int n, tile_fn *tile, enum element element) {
    const enum form form = ROWS;
    const ptrdiff_t i = 0;
    if (n == 4 * NR)
        tile(p, i, 1, 4 * PANEL_VECS, element, form);
    else
        switch (m) { CASE(1, 2 * PANEL_VECS) CASE(2, 2 * PANEL_VECS) }
}

/* Plain rows. */
TILE for_each_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile,
                   enum element element) {
    const enum form form = ROWS;
    if (n > NR) {
        run_panels(p, m, n, tile, element);
        return;
    }
    for (ptrdiff_t i = 0, rows; i < m; i += rows) {
        if (n == NR) {
            rows = tile_rows(m - i, MR);
            switch (rows) { CASES_WIDE }
        } else {
            rows = coarse_rows(m - i, MR_NARROW);
            switch (rows) { CASE(1, 1) CASE(2, 1) CASE(4, 1) CASE(MR_NARROW, 1) }
        }
    }
}

/* Row panels of MR rows from row `first` on, the last one with what is left. */
TILE for_each_row_panel(const struct product *p, ptrdiff_t first, ptrdiff_t m, int n, tile_fn *tile,
                        enum element element, enum form form) {
    for (ptrdiff_t i = first, rows; i < m; i += rows) {
        rows = m - i < MR ? m - i : MR;
        if (n == NR) {
            switch (rows) { CASES_WIDE }
        } else {
            switch (rows) { CASES_PANEL }
        }
    }
}

/* Plain rows in smaller tiles, where there are few of them; of all heights where panels are of f32
 * and whole: a matrix has at most one other, and the other types read less. */
TILE for_each_direct_tile(const struct product *p, ptrdiff_t m, int n, tile_fn *tile,
                          enum element element) {
    const enum form form = ROWS;
    if (n > NR) {
        run_panels(p, m, n, tile, element);
        return;
    }
    for (ptrdiff_t i = 0, rows; i < m; i += rows) {
        rows = coarse_rows(m - i, MR_DIRECT);
        if (n == NR && element == F32) {
            rows = tile_rows(m - i, MR_DIRECT);
            switch (rows) { CASES_DIRECT }
        } else if (n == NR) {
            switch (rows) { CASE(1, 2) CASE(2, 2) CASE(4, 2) CASE(MR_DIRECT, 2) }
        } else {
            rows = rows > 4 ? 4 : rows;
            switch (rows) { CASE(1, 1) CASE(2, 1) CASE(4, 1) }
        }
    }
}

/* m rows against n columns: one panel, or as many as panels_at_once says. */
typedef void columns_fn(const struct product *p, ptrdiff_t m, int n);

/* A columns_fn is not inlined: around its tiles gcc would spill what the loop over panels keeps. */
#define COLUMNS static __attribute__((noinline)) void

/* One that takes plain rows by for_each_direct_tile. */
#define DEFINE_DIRECT(columns, tile, element)                                                      \
    COLUMNS columns(const struct product *p, ptrdiff_t m, int n) {                                 \
        for_each_direct_tile(p, m, n, tile, element);                                              \
    }

/* All n columns. */
TILE for_each_panel(struct product *p, ptrdiff_t m, ptrdiff_t n, columns_fn *columns,
                    enum element element, enum form form) {
    for (ptrdiff_t j = 0, width; j < n; j += width) {
        width = n < NR ? n : form == ROWS ? panels_at_once(m, n - j) * NR : NR;
        columns(p, m, (int)width);
        next_columns(p, j, width, element);
    }
}

#endif
