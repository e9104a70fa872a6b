/* scores of the x86 tiers on keys that are rows in their own place: each tile turns its keys in
 * registers and multiplies at once. */
#include "x86/gemm.h"

/* Rows of a tile at most: with two vectors of keys, accumulators and turned keys nearly fill avx2's
 * registers. */
enum { MR_KEYS = 4 };

/* What a tile works on: n keys from b on, for m rows of A. */
struct keys {
    float *c;
    ptrdiff_t c_stride;
    const float *a;
    ptrdiff_t a_stride, m, k;
    float scale;
    const float *b;
    ptrdiff_t b_stride, n;
    /* From line to line, and from step to step, of what is asked for of the next tile's keys: in
     * the order of memory where they lie end to end. That is 3 to 9 % faster for four rows. */
    ptrdiff_t next_stride, next_step;
};

/* Keys of a tile, and floats of a cache line. */
enum { KEY_VECS = 2, TILE_KEYS = KEY_VECS * LANES, LINE = 16 };

/* Row i of A or C; a tile of four for three rows does the last one twice. */
ALWAYS_INLINE ptrdiff_t row_at(const struct keys *keys, int i) {
    return i < keys->m ? i : keys->m - 1;
}

/* Steps t ... t + LANES - 1 of every chain, where all keys and elements exist. */
TILE take_keys(vec *restrict acc, const struct keys *keys, ptrdiff_t t, int rows) {
    const float *next = keys->b + TILE_KEYS * keys->b_stride + t * keys->next_step;
    UNROLLED
    for (int v = 0; v < KEY_VECS; v++) {
        vec tile[LANES];
        UNROLLED
        for (int j = 0; j < LANES; j++) {
            const float *key = keys->b + (v * LANES + j) * keys->b_stride + t;
            tile[j] = load(key);
            if (t % LINE == 0)
                prefetch(next + (v * LANES + j) * keys->next_stride);
        }
        transpose(tile);
        UNROLLED
        for (int u = 0; u < LANES; u++) {
            UNROLLED
            for (int i = 0; i < rows; i++)
                acc[i * KEY_VECS + v] =
                    multiply_add(broadcast(keys->a[row_at(keys, i) * keys->a_stride + t + u]),
                                 tile[u], acc[i * KEY_VECS + v]);
        }
    }
}

/* Elements t ... t + LANES - 1, turned, of those that exist; the others are 0. */
static __attribute__((noinline)) void turn_some(float *restrict turned, const struct keys *keys,
                                                ptrdiff_t t) {
    for (int v = 0; v < KEY_VECS; v++) {
        vec tile[LANES];
        UNROLLED
        for (int j = 0; j < LANES; j++)
            tile[j] = v * LANES + j < keys->n
                          ? load_first(keys->b + (v * LANES + j) * keys->b_stride + t, keys->k - t)
                          : broadcast(0.0f);
        transpose(tile);
        UNROLLED
        for (int u = 0; u < LANES; u++)
            store(turned + u * TILE_KEYS + v * LANES, tile[u]);
    }
}

/* Takes these steps where keys or elements are missing. */
TILE take_some_keys(vec *restrict acc, const struct keys *keys, ptrdiff_t t, int rows) {
    float turned[LANES * TILE_KEYS];
    turn_some(turned, keys, t);
    for (ptrdiff_t u = 0; u < LANES && u < keys->k - t; u++) {
        UNROLLED
        for (int i = 0; i < rows * KEY_VECS; i++)
            acc[i] = multiply_add(
                broadcast(keys->a[row_at(keys, i / KEY_VECS) * keys->a_stride + t + u]),
                load(turned + u * TILE_KEYS + i % KEY_VECS * LANES), acc[i]);
    }
}

TILE keys_tile(const struct keys *keys, int rows) {
    vec acc[KEY_VECS * MR_KEYS];
    ptrdiff_t t = 0;
    UNROLLED
    for (int i = 0; i < rows * KEY_VECS; i++)
        acc[i] = broadcast(0.0f);
    for (; keys->n >= TILE_KEYS && keys->k - t >= LANES; t += LANES)
        take_keys(acc, keys, t, rows);
    for (; t < keys->k; t += LANES)
        take_some_keys(acc, keys, t, rows);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *c = keys->c + row_at(keys, i) * keys->c_stride;
        UNROLLED
        for (int v = 0; v < KEY_VECS; v++) {
            if (v * LANES < keys->n)
                store(c + v * LANES, multiply(broadcast(keys->scale), acc[i * KEY_VECS + v]));
        }
    }
}

void TIER(headwise_scores_in_place)(float *restrict c, ptrdiff_t c_stride, const float *restrict a,
                                    ptrdiff_t a_stride, int a_rows,
                                    const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n,
                                    ptrdiff_t k, float scale) {
    (void)a_rows; /* 1 */
    for (; m > 0; m -= MR_KEYS, a += MR_KEYS * a_stride, c += MR_KEYS * c_stride) {
        for (ptrdiff_t j = 0; j < n; j += TILE_KEYS) {
            const struct keys keys = {
                .c = c + j,
                .c_stride = c_stride,
                .a = a,
                .a_stride = a_stride,
                .m = m,
                .k = k,
                .scale = scale,
                .b = (const float *)b->data + j * b->row_stride,
                .b_stride = b->row_stride,
                .n = n - j,
                .next_stride = b->row_stride == k ? LINE : b->row_stride,
                .next_step = b->row_stride == k ? TILE_KEYS : 1,
            };
            if (m == 1)
                keys_tile(&keys, 1);
            else if (m == 2)
                keys_tile(&keys, 2);
            else
                keys_tile(&keys, MR_KEYS);
        }
    }
}
