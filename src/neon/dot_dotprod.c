/* Sums of products of bytes by NEON's dot product extension. The instruction is assembly, so that
 * no compiler needs a flag for it; headwise_dot_get() asks for the feature. */
#include "kernels/dot.h"
#include "vec.h"

enum { MOST_VECS = NR / LANES };

#define TILE ALWAYS_INLINE void

headwise_interleave_i8_fn headwise_interleave_i8_dotprod;
void headwise_interleave_i8_dotprod(int8_t *restrict quads, const int8_t *restrict b, int n,
                                    ptrdiff_t k) {
    for (ptrdiff_t t = 0; t < k; t += 4) {
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < 4; i++)
                quads[t * n + 4 * j + i] = t + i < k ? b[(t + i) * n + j] : 0;
        }
    }
}

/* acc += b times the lane's four bytes of a; lane is a constant at every call. */
ALWAYS_INLINE int32x4_t dot_lane(int32x4_t acc, int8x16_t b, int8x16_t a, const int lane) {
    __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.4b[%3]"
            : "+w"(acc)
            : "w"(b), "w"(a), "i"(lane));
    return acc;
}

struct dot {
    float *c;
    ptrdiff_t c_stride;
    const uint8_t *a;
    ptrdiff_t a_stride;
    const int8_t *quads;
    ptrdiff_t n_quads;
    bool resume;
};

/* One quad of every row, in the given lane of x. */
TILE step(int32x4_t *restrict acc, const int8x16_t *restrict x, const int lane, const int8_t *quads,
          int rows, int vecs) {
    UNROLLED
    for (int v = 0; v < vecs; v++) {
        int8x16_t b = vld1q_s8(quads + v * 16);
        UNROLLED
        for (int i = 0; i < rows; i++)
            acc[i * vecs + v] = dot_lane(acc[i * vecs + v], b, x[i], lane);
    }
}

TILE dot_tile(const struct dot *d, ptrdiff_t first, int rows, int vecs) {
    int32x4_t acc[MR * MOST_VECS];
    int8x16_t x[MR];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++) {
        const float *c = d->c + (first + i / vecs) * d->c_stride + i % vecs * LANES;
        acc[i] = d->resume ? vreinterpretq_s32_f32(load(c)) : vdupq_n_s32(0);
    }
    const uint8_t *a = d->a + first * d->a_stride;
    const int8_t *quads = d->quads;
    ptrdiff_t t = 0;
    for (; t + 4 <= d->n_quads; t += 4) {
        UNROLLED
        for (int i = 0; i < rows; i++)
            x[i] = vreinterpretq_s8_u8(vld1q_u8(a + i * d->a_stride + 4 * t));
        step(acc, x, 0, quads + (t * vecs) * 16, rows, vecs);
        step(acc, x, 1, quads + ((t + 1) * vecs) * 16, rows, vecs);
        step(acc, x, 2, quads + ((t + 2) * vecs) * 16, rows, vecs);
        step(acc, x, 3, quads + ((t + 3) * vecs) * 16, rows, vecs);
    }
    for (; t < d->n_quads; t++) {
        UNROLLED
        for (int i = 0; i < rows; i++) {
            uint32_t four;
            memcpy(&four, a + i * d->a_stride + 4 * t, sizeof four);
            x[i] = vreinterpretq_s8_u32(vdupq_n_u32(four));
        }
        step(acc, x, 0, quads + (t * vecs) * 16, rows, vecs);
    }
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        store(d->c + (first + i / vecs) * d->c_stride + i % vecs * LANES,
              vreinterpretq_f32_s32(acc[i]));
}

TILE dot_rows(const struct dot *d, ptrdiff_t m, int vecs) {
    ptrdiff_t i = 0;
    for (; m - i >= MR; i += MR)
        dot_tile(d, i, MR, vecs);
    for (; i < m; i++)
        dot_tile(d, i, 1, vecs);
}

headwise_dot_i8_fn headwise_dot_i8_dotprod;
void headwise_dot_i8_dotprod(float *restrict c, ptrdiff_t c_stride, const uint8_t *restrict a,
                             ptrdiff_t a_stride, const int8_t *restrict quads, ptrdiff_t m, int n,
                             ptrdiff_t n_quads, bool resume) {
    struct dot d = {c, c_stride, a, a_stride, quads, n_quads, resume};
    switch (n / LANES) {
    case 1:
        dot_rows(&d, m, 1);
        break;
    case 2:
        dot_rows(&d, m, 2);
        break;
    case 3:
        dot_rows(&d, m, 3);
        break;
    case 4:
        dot_rows(&d, m, 4);
        break;
    }
}

const struct headwise_dot headwise_dot_dotprod = {0, headwise_interleave_i8_dotprod,
                                                  headwise_dot_i8_dotprod};
