/* scores of the neon tier. */
#include "neon/gemm.h"
#include "neon/turned.h"

TILE scores_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                 enum element element) {
    vec acc[MR * NR_VECS];
    accumulate(acc, zeros, 0, p, first, rows, vecs, element);
    end_scores(acc, p, first, rows, vecs);
}

DEFINE_SCORES(TIER(headwise_scores_f32), F32, for_each_panel(&p, m, n, scores_tile, F32))
DEFINE_SCORES(TIER(headwise_scores_f16), F16, for_each_panel(&p, m, n, scores_tile, F16))
DEFINE_SCORES(TIER(headwise_scores_bf16), BF16, for_each_panel(&p, m, n, scores_tile, BF16))
DEFINE_SCORES(TIER(headwise_scores_i8), KEYS_I8, for_each_panel(&p, m, n, scores_tile, KEYS_I8))

/* Elements t ... t + 3 of eight keys, turned, as load_turned has them, of which n exist. */
TILE load_some(vec *restrict tile, const float *keys, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t k) {
    UNROLLED
    for (int v = 0; v < 2; v++) {
        for (int j = 0; j < LANES; j++)
            tile[v * LANES + j] =
                load_first(keys + (v * LANES + j) * stride, v * LANES + j < n ? k : 0);
        transpose(tile + v * LANES);
    }
}

/* At most TURNED keys for rows 0 ... rows - 1. */
TILE keys_tile(float *c, ptrdiff_t c_stride, const float *a, ptrdiff_t a_stride, const float *keys,
               ptrdiff_t b_stride, int rows, ptrdiff_t n, ptrdiff_t k, float scale) {
    vec acc[2 * MR], x[MR], tile[TURNED];
    const float *key[TURNED], *row[MR];
    ptrdiff_t t = 0;
    UNROLLED
    for (int i = 0; i < 2 * rows; i++)
        acc[i] = broadcast(0.0f);
    UNROLLED
    for (int i = 0; i < rows; i++)
        row[i] = a + i * a_stride;
    UNROLLED
    for (int j = 0; j < TURNED; j++)
        key[j] = keys + j * b_stride;
    for (; n >= TURNED && k - t >= LANES; t += LANES) {
        load_turned(tile, key);
        load_four(x, row, rows);
        UNROLLED
        for (int lane = 0; lane < LANES; lane++) {
            const vec b_row[2] = {tile[lane], tile[LANES + lane]};
            step(acc, x, lane, b_row, rows, 2);
        }
    }
    for (; t < k; t += LANES) {
        load_some(tile, keys + t, b_stride, n, k - t);
        for (int u = 0; u < LANES && u < k - t; u++) {
            const vec b_row[2] = {tile[u], tile[LANES + u]};
            load_one(x, row, rows);
            step(acc, x, 0, b_row, rows, 2);
        }
    }
    UNROLLED
    for (int i = 0; i < rows; i++) {
        store(c + i * c_stride, multiply(broadcast(scale), acc[2 * i]));
        if (n > LANES)
            store(c + i * c_stride + LANES, multiply(broadcast(scale), acc[2 * i + 1]));
    }
}

/* clang-format off */
#define KEYS_CASE(rows) \
    case rows: \
        keys_tile(c + j, c_stride, a, a_stride, keys, b->row_stride, rows, n - j, k, scale); \
        break;
/* clang-format on */

void TIER(headwise_scores_in_place)(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                    ptrdiff_t a_stride, int a_rows,
                                    const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n,
                                    ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    for (; m > 0; m -= MR, a += MR * a_stride, c += MR * c_stride) {
        for (ptrdiff_t j = 0; j < n; j += TURNED) {
            const float *keys = (const float *)b->data + j * b->row_stride;
            switch (m < MR ? m : MR) { KEYS_CASE(1) KEYS_CASE(2) KEYS_CASE(3) KEYS_CASE(4) }
        }
    }
}
