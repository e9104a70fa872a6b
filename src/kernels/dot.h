/* Rows rounded to bytes, and exact sums of their products with bytes, beside the contract of
 * kernels.h. */
#ifndef HEADWISE_DOT_H
#define HEADWISE_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most inputs of a sum: 65536 * 255 * 128 is below 2^31. */
#define HEADWISE_DOT_INPUTS 65536

/* Most inputs of a group: what AMX takes before it stores sums to y (its SLICE_INPUTS). */
#define HEADWISE_DOT_GROUP 512

/* Rows of bytes are readable, and written, up to the next multiple of this. */
#define HEADWISE_DOT_STEP 64

/* How a row is rounded. Of its n components, low = min(0, x[0], ...), high = max(0, x[0], ...):
 *   scale = max(high / 255 - low / 255, 2^-126)          at most 2^121.1
 *   inverse = 1 / scale
 *   zero = 0 - low * inverse, rounded to nearest even    a whole number from 0 to 255
 * or, where a component is not finite, scale = NaN, inverse = zero = 0. */
struct headwise_rounding {
    float scale, inverse, zero;
    int32_t zero_byte; /* zero, as bytes are */
};

typedef void headwise_measure_rows_fn(struct headwise_rounding *restrict roundings,
                                      const float *restrict x, ptrdiff_t x_stride, ptrdiff_t m,
                                      ptrdiff_t n);

/* Components as integers: u = fma(x, inverse, zero) rounded to nearest even, held from 0 to 255; of
 * a row that is not finite 0. So x = 0 is zero, and x is (u - zero) * scale, off by at most
 *   scale * (1/2 + 2^-12)
 * as the roundings of scale, inverse, zero and fma, each at most 256 * 2^-24 steps, add less than
 * 2^-12 to half a step, also where u is held. Bytes are u, or u - 128 with a sign, as the tier's
 * products take them; those from k up to the next multiple of HEADWISE_DOT_STEP are written too,
 * and have no meaning. u_stride is at least that. */
typedef void headwise_round_rows_fn(uint8_t *restrict bytes, ptrdiff_t bytes_stride,
                                    const float *restrict x, ptrdiff_t x_stride,
                                    const struct headwise_rounding *restrict roundings, ptrdiff_t m,
                                    ptrdiff_t k);

/* What a thread's registers are set up for between its calls. Zero before the first of them; after
 * the last, release takes it back. In between the thread makes no call with another state, or none.
 */
struct headwise_dot_state {
    ptrdiff_t rows[2];
};

/* m rows of bytes. */
struct headwise_dot_rows {
    const uint8_t *bytes;
    ptrdiff_t stride;
    const struct headwise_rounding *roundings;
    ptrdiff_t m;
    ptrdiff_t groups_apart;           /* from the roundings of a group to the next's */
    struct headwise_dot_state *state; /* or NULL: nothing stays set up after the call */
};

/* A panel of n columns, or k inputs of one: the weight of input t in column j is at
 *   panel[(t / together * n + j) * together + t % together]
 * with zeros from k up to the next multiple of together. */
struct headwise_dot_columns {
    const int8_t *panel;
    int n;
    ptrdiff_t k;
    const int32_t *sums;        /* of each column's weights, or NULL */
    const float *scales, *bias; /* or NULL */
    bool adds;                  /* what y holds, as floats, takes bias's place; with scales */
    /* Inputs that have roundings, sums and scales of their own, a multiple of HEADWISE_DOT_STEP up
     * to HEADWISE_DOT_GROUP; 0: all have the same. From those of a group to the next's. */
    ptrdiff_t group, groups_apart;
};

/* Sums, in 32 bits that wrap around; y holds the bits of what earlier inputs gave:
 *   s[i][j] = (resume ? y[i][j] : 0) - (sums ? zero_byte[i] * sums[j] : 0)
 *           + sum over t < k of byte[i][t] * w[t][j]
 * Then, where scales are given,
 *   y[i][j] = fma(float(s[i][j]) * scales[j], scale[i], adds ? y[i][j] : bias ? bias[j] : 0)
 * else y[i][j] = the bits of s[i][j]. Groups, of which there are no bits to resume, each end so, in
 * increasing order, the first as said and the others with adds: one chain of f32 sums on every
 * tier. So with the sums of all
 * inputs given once, s ends as the sum of (u - zero) * w, exactly, wherever a processor has
 * instructions for bytes and wherever not. */
typedef void headwise_dot_fn(float *restrict y, ptrdiff_t y_stride,
                             const struct headwise_dot_rows *rows,
                             const struct headwise_dot_columns *columns, bool resume);

/* Where processors multiply bytes, in files with flags and feature bits of their own. */
struct headwise_dot {
    const char *name;
    int together;
    headwise_dot_fn *multiply;
    bool (*is_usable)(void); /* or NULL: wherever the features are; else multiply does without */
    void (*release)(struct headwise_dot_state *state); /* or NULL: nothing is set up */
};

/* Of the tiers, without such instructions. */
extern const struct headwise_dot headwise_dot_scalar, headwise_dot_avx2, headwise_dot_avx512,
    headwise_dot_neon;

extern const struct headwise_dot headwise_dot_avxvnni; /* avx2 with AVX-VNNI */
extern const struct headwise_dot headwise_dot_vnni;    /* avx512 with AVX-512 VNNI */
extern const struct headwise_dot headwise_dot_dotprod; /* neon with the dot product extension */

#endif
