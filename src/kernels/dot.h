/* Products of bytes, beside the contract of kernels.h. */
#ifndef HEADWISE_DOT_H
#define HEADWISE_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where processors multiply bytes, in files with flags and feature bits of their own; the sums are
 * exact, so that having these or not changes no bit.
 *
 * interleave: quads[(t / 4 * n + j) * 4 + t % 4] = t < k ? b[t*n + j] : 0     t < k rounded up to 4
 * dot, c holding the bits of 32-bit integers:
 *   c[i*c_stride + j] = (resume ? c[i*c_stride + j] : 0)
 *                     + sum over t < 4 * n_quads of (a[i*a_stride + t] - offset) * quads[t][j]
 * offset 128: a is unsigned; offset 0: signed. a is readable up to 4 * n_quads. */
typedef void headwise_interleave_i8_fn(int8_t *restrict quads, const int8_t *restrict b, int n,
                                       ptrdiff_t k);
typedef void headwise_dot_i8_fn(float *restrict c, ptrdiff_t c_stride, const uint8_t *restrict a,
                                ptrdiff_t a_stride, const int8_t *restrict quads, ptrdiff_t m,
                                int n, ptrdiff_t n_quads, bool resume);

struct headwise_dot {
    uint8_t offset;
    headwise_interleave_i8_fn *interleave;
    headwise_dot_i8_fn *dot;
};

extern const struct headwise_dot headwise_dot_vnni;    /* AVX-512 VNNI */
extern const struct headwise_dot headwise_dot_dotprod; /* NEON's dot product extension */

#endif
