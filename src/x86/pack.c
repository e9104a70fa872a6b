/* Packing of panels and row panels in the x86 tiers.
 *
 * Callers walk through rows in order, so what lies as far ahead as a call reaches is asked for:
 * without, decoding waits for memory at every panel. It goes to L2, since rows 4 KB apart share a
 * set of L1. */
#include "vec.h"
#include "x86/prefetch.h"

/* One row panel of h <= LANES rows. Whole vectors are stored where the next step's overwrite what
 * is too much. */
static void pack_row_panel(float *restrict a, const float *restrict src, ptrdiff_t src_stride,
                           ptrdiff_t h, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t += LANES) {
        vec tile[LANES];
        UNROLLED
        for (int j = 0; j < LANES; j++) {
            tile[j] = j < h ? load_first(src + j * src_stride + t, k - t) : broadcast(0.0f);
            if (j < h && t % 16 == 0)
                prefetch_to_l2(src + (j + h) * src_stride + t);
        }
        transpose(tile);
        UNROLLED
        for (int r = 0; r < LANES; r++) {
            float *to = a + (t + r) * h;
            if ((t + r) * h + LANES <= k * h)
                store(to, tile[r]);
            else if (r < k - t)
                store_first(to, tile[r], h);
        }
    }
}

void TIER(headwise_pack_rows)(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                              ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k) {
    for (ptrdiff_t i = 0; i < m; i += MR)
        pack_row_panel(a + i * a_stride, src + i * src_stride, src_stride, m - i < MR ? m - i : MR,
                       k);
}

/* Columns first ... first + LANES - 1 of the panel; n_rows of them exist, the others are 0. */
static void pack_lanes(float *restrict panel, int n, const float *restrict src,
                       ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t += LANES) {
        vec tile[LANES];
        if (n_rows >= LANES && k - t >= LANES) {
            UNROLLED
            for (int j = 0; j < LANES; j++) {
                tile[j] = load(src + j * src_stride + t);
                if (t % 16 == 0)
                    prefetch_to_l2(src + (j + n) * src_stride + t);
            }
            transpose(tile);
            UNROLLED
            for (int r = 0; r < LANES; r++)
                store(panel + (t + r) * n, tile[r]);
        } else {
            UNROLLED
            for (int j = 0; j < LANES; j++)
                tile[j] =
                    j < n_rows ? load_first(src + j * src_stride + t, k - t) : broadcast(0.0f);
            transpose(tile);
            UNROLLED
            for (int r = 0; r < LANES; r++) {
                if (r < k - t)
                    store(panel + (t + r) * n, tile[r]);
            }
        }
    }
}

void TIER(headwise_pack_transposed)(float *restrict panel, int n, const float *restrict src,
                                    ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    for (int j = 0; j < n; j += LANES)
        pack_lanes(panel + j, n, src + j * src_stride, src_stride, n_rows - j, k);
}

/* Whole rows, a line at a time: with one vector after the other, which meets every line twice on
 * avx2, a call took twice as long there and decoding 4 % longer. */
static bool pack_whole_rows(float *restrict panel, const float *restrict src, ptrdiff_t src_stride,
                            ptrdiff_t k) {
    vec magnitude[NR / LANES];
    UNROLLED
    for (int v = 0; v < NR / LANES; v++)
        magnitude[v] = broadcast(0.0f);
    for (ptrdiff_t t = 0; t < k; t++) {
        const float *row = src + t * src_stride;
        UNROLLED
        for (int v = 0; v < NR / LANES; v++) {
            vec x = load(row + v * LANES);
            store(panel + t * NR + v * LANES, x);
            magnitude[v] = select_magnitude(x, magnitude[v]);
            if (v * LANES % 16 == 0)
                prefetch_to_l2(row + k * src_stride + v * LANES);
        }
    }
    UNROLLED
    for (int v = 1; v < NR / LANES; v++)
        magnitude[0] = select_magnitude(magnitude[v], magnitude[0]);
    return is_finite(magnitude[0]);
}

bool TIER(headwise_pack_columns)(float *restrict panel, int n, const float *restrict src,
                                 ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    if (n_columns == NR)
        return pack_whole_rows(panel, src, src_stride, k);
    vec magnitude = broadcast(0.0f);
    for (int j = 0; j < n; j += LANES) {
        for (ptrdiff_t t = 0; t < k; t++) {
            vec x = load_first(src + t * src_stride + j, n_columns - j);
            prefetch_to_l2(src + (t + k) * src_stride + j);
            store(panel + t * n + j, x);
            magnitude = select_magnitude(x, magnitude);
        }
    }
    return is_finite(magnitude);
}
