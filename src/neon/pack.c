/* Packing of panels; row panels are plain rows. */
#include "neon/turned.h"

/* Plain rows: row_panel is 1. */
void TIER(headwise_pack_rows)(float *restrict a, ptrdiff_t a_stride, const float *restrict src,
                              ptrdiff_t src_stride, ptrdiff_t m, ptrdiff_t k) {
    for (ptrdiff_t i = 0; i < m; i++)
        memcpy(a + i * a_stride, src + i * src_stride, (size_t)k * sizeof(float));
}

/* The first k / 4 * 4 rows of a panel whose n columns all exist; n is a constant at every call. */
ALWAYS_INLINE void pack_full(float *restrict panel, int n, const float *restrict src,
                             ptrdiff_t src_stride, ptrdiff_t k) {
    const float *row[16];
    UNROLLED
    for (int j = 0; j < n; j++)
        row[j] = src + j * src_stride;
    for (const float *end = panel + (k & -LANES) * n; panel != end; panel += LANES * n) {
        UNROLLED
        for (int j = 0; j < n; j += TURNED) {
            vec tile[TURNED];
            load_turned(tile, row + j);
            UNROLLED
            for (int r = 0; r < LANES; r++) {
                store(panel + r * n + j, tile[r]);
                store(panel + r * n + j + LANES, tile[LANES + r]);
            }
        }
    }
}

/* Columns first ... first + LANES - 1 of the panel; n_rows of them exist, the others are 0. */
static void pack_rows(float *restrict panel, int n, const float *restrict src, ptrdiff_t src_stride,
                      int n_rows, ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t += LANES) {
        vec tile[LANES];
        for (int j = 0; j < LANES; j++)
            tile[j] = load_first(src + j * src_stride + t, j < n_rows ? k - t : 0);
        transpose(tile);
        for (int r = 0; r < LANES && r < k - t; r++)
            store(panel + (t + r) * n, tile[r]);
    }
}

void TIER(headwise_pack_transposed)(float *restrict panel, int n, const float *restrict src,
                                    ptrdiff_t src_stride, int n_rows, ptrdiff_t k) {
    ptrdiff_t t = 0;
    if (n_rows == 16) {
        t = k & -LANES;
        pack_full(panel, 16, src, src_stride, k);
    } else if (n_rows == 8 && n == 8) {
        t = k & -LANES;
        pack_full(panel, 8, src, src_stride, k);
    }
    for (int j = 0; j < n; j += LANES)
        pack_rows(panel + t * n + j, n, src + j * src_stride + t, src_stride, n_rows - j, k - t);
}

/* Copies a row of vecs vectors, a constant at every call. Products of two vectors stand for a look
 * at each: the sums are finite only if all that was copied is, for half the instructions. */
ALWAYS_INLINE void copy_row(float *restrict dst, const float *restrict src, int vecs,
                            vec probe[2]) {
    vec x[NR / LANES];
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        x[v] = load(src + v * LANES);
        store(dst + v * LANES, x[v]);
    }
    UNROLLED
    for (int v = 0; v < vecs; v += 2)
        probe[v / 2] = multiply_add(x[v], v + 1 < vecs ? x[v + 1] : x[v], probe[v / 2]);
}

/* Copies vecs vectors of k rows, vecs a constant at every call. Returns whether they are finite;
 * false also for finite values that overflow when multiplied. */
ALWAYS_INLINE bool copy_columns(float *restrict panel, int n, const float *restrict src,
                                ptrdiff_t src_stride, ptrdiff_t k, int vecs) {
    vec probe[2] = {broadcast(0.0f), broadcast(0.0f)};
    for (; k >= 4; k -= 4) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++, src += src_stride)
            copy_row(panel + r * n, src, vecs, probe);
        panel += 4 * n;
    }
    for (; k > 0; k--, src += src_stride, panel += n)
        copy_row(panel, src, vecs, probe);
    vec magnitude = select_magnitude(probe[0], broadcast(0.0f));
    return is_finite(select_magnitude(probe[1], magnitude));
}

/* Copies the last vector of columns, of which n_columns elements exist. */
static bool copy_last_columns(float *restrict panel, int n, const float *restrict src,
                              ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    vec magnitude = broadcast(0.0f);
    for (ptrdiff_t t = 0; t < k; t++) {
        vec x = load_first(src + t * src_stride, n_columns);
        store(panel + t * n, x);
        magnitude = select_magnitude(x, magnitude);
    }
    return is_finite(magnitude);
}

static bool panel_is_finite(const float *panel, ptrdiff_t size) {
    vec magnitude = broadcast(0.0f);
    for (ptrdiff_t i = 0; i < size; i += LANES)
        magnitude = select_magnitude(load(panel + i), magnitude);
    return is_finite(magnitude);
}

bool TIER(headwise_pack_columns)(float *restrict panel, int n, const float *restrict src,
                                 ptrdiff_t src_stride, int n_columns, ptrdiff_t k) {
    bool finite = true;
    if (n_columns == 16) {
        finite = copy_columns(panel, 16, src, src_stride, k, 4);
    } else if (n_columns == 8 && n == 8) {
        finite = copy_columns(panel, 8, src, src_stride, k, 2);
    } else {
        for (int j = 0; j < n; j += LANES) {
            if (n_columns - j >= LANES)
                finite &= copy_columns(panel + j, n, src + j, src_stride, k, 1);
            else
                finite &= copy_last_columns(panel + j, n, src + j, src_stride, n_columns - j, k);
        }
    }
    return finite || panel_is_finite(panel, k * n);
}
