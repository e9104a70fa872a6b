/* Sums of products of bytes by AVX-512 VNNI. */
#include "kernels/dot.h"
#include "vec.h"

enum { MOST_VECS = NR / LANES };

#define TILE ALWAYS_INLINE void

headwise_interleave_i8_fn headwise_interleave_i8_vnni;
void headwise_interleave_i8_vnni(int8_t *restrict quads, const int8_t *restrict b, int n,
                                 ptrdiff_t k) {
    static const int8_t zeros[NR];
    for (ptrdiff_t t = 0; t < k; t += 4) {
        const int8_t *row[4];
        for (int i = 0; i < 4; i++)
            row[i] = t + i < k ? b + (t + i) * n : zeros;
        for (int j = 0; j < n; j += LANES) {
            __m128i r0 = _mm_loadu_si128((const __m128i *)(row[0] + j));
            __m128i r1 = _mm_loadu_si128((const __m128i *)(row[1] + j));
            __m128i r2 = _mm_loadu_si128((const __m128i *)(row[2] + j));
            __m128i r3 = _mm_loadu_si128((const __m128i *)(row[3] + j));
            __m128i low01 = _mm_unpacklo_epi8(r0, r1), high01 = _mm_unpackhi_epi8(r0, r1);
            __m128i low23 = _mm_unpacklo_epi8(r2, r3), high23 = _mm_unpackhi_epi8(r2, r3);
            __m128i *to = (__m128i *)(quads + t * n + 4 * j);
            _mm_storeu_si128(to, _mm_unpacklo_epi16(low01, low23));
            _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
            _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
            _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
        }
    }
}

struct dot {
    float *c;
    ptrdiff_t c_stride;
    const uint8_t *a;
    ptrdiff_t a_stride;
    const int8_t *quads;
    ptrdiff_t n_quads;
    bool resume;
    __m512i excess[MOST_VECS]; /* what the offset of a adds to a column */
};

TILE load_quads(__m512i *restrict quads, const struct dot *d, ptrdiff_t t, int vecs) {
    UNROLLED
    for (int v = 0; v < vecs; v++)
        quads[v] = _mm512_loadu_si512(d->quads + (t * vecs + v) * 64);
}

/* 128 times the sum of each column. */
TILE sum_excess(struct dot *d, int vecs) {
    __m512i sums[MOST_VECS], quads[MOST_VECS];
    const __m512i ones = _mm512_set1_epi8(1);
    for (int v = 0; v < vecs; v++)
        sums[v] = _mm512_setzero_si512();
    for (ptrdiff_t t = 0; t < d->n_quads; t++) {
        load_quads(quads, d, t, vecs);
        UNROLLED
        for (int v = 0; v < vecs; v++)
            sums[v] = _mm512_dpbusd_epi32(sums[v], ones, quads[v]);
    }
    for (int v = 0; v < vecs; v++)
        d->excess[v] = _mm512_slli_epi32(sums[v], 7);
}

/* Integers wrap around on the way; the sum that is meant fits. */
TILE dot_tile(const struct dot *d, ptrdiff_t first, int rows, int vecs) {
    __m512i acc[MR * MOST_VECS], quads[MOST_VECS];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++) {
        const float *c = d->c + (first + i / vecs) * d->c_stride + i % vecs * LANES;
        __m512i start = d->resume ? _mm512_loadu_si512(c) : _mm512_setzero_si512();
        acc[i] = _mm512_sub_epi32(start, d->excess[i % vecs]);
    }
    const uint8_t *a = d->a + first * d->a_stride;
    for (ptrdiff_t t = 0; t < d->n_quads; t++, a += 4) {
        load_quads(quads, d, t, vecs);
        UNROLLED
        for (int i = 0; i < rows; i++) {
            int32_t four;
            memcpy(&four, a + i * d->a_stride, sizeof four);
            __m512i x = _mm512_set1_epi32(four);
            UNROLLED
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] = _mm512_dpbusd_epi32(acc[i * vecs + v], x, quads[v]);
        }
    }
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        _mm512_storeu_si512(d->c + (first + i / vecs) * d->c_stride + i % vecs * LANES, acc[i]);
}

/* clang-format off */
#define CASE(rows, vecs) case rows: dot_tile(&d, i, rows, vecs); break;
#define CASES(vecs) \
    CASE(1, vecs) CASE(2, vecs) CASE(3, vecs) CASE(4, vecs) CASE(5, vecs) CASE(6, vecs) \
    CASE(7, vecs) CASE(8, vecs) CASE(9, vecs) CASE(10, vecs) CASE(11, vecs) CASE(12, vecs)
/* clang-format on */

headwise_dot_i8_fn headwise_dot_i8_vnni;
void headwise_dot_i8_vnni(float *restrict c, ptrdiff_t c_stride, const uint8_t *restrict a,
                          ptrdiff_t a_stride, const int8_t *restrict quads, ptrdiff_t m, int n,
                          ptrdiff_t n_quads, bool resume) {
    struct dot d = {c, c_stride, a, a_stride, quads, n_quads, resume, {{0}}};
    if (n == NR)
        sum_excess(&d, 2);
    else
        sum_excess(&d, 1);
    for (ptrdiff_t i = 0, rows; i < m; i += rows) {
        rows = m - i < MR ? m - i : MR;
        if (n == NR) {
            switch (rows) { CASES(2) }
        } else {
            switch (rows) { CASES(1) }
        }
    }
}

const struct headwise_dot headwise_dot_vnni = {128, headwise_interleave_i8_vnni,
                                               headwise_dot_i8_vnni};
