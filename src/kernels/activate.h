/* Activations, beside the contract of kernels.h. */
#ifndef HEADWISE_ACTIVATE_H
#define HEADWISE_ACTIVATE_H

#include <stddef.h>

#include "headwise/rows.h"

enum { HEADWISE_ACTIVATIONS = HEADWISE_ACTIVATION_TANH + 1 };

/* m rows of n elements: y[i][j] = f(x[i][j]), times factor[i][j] where factor is not NULL. y may be
 * x or factor, with the same stride. f is, with exp2(z), z in [-127, 128], and P(a) below:
 *   NONE       x
 *   RELU       0 > x ? 0 : x
 *   GELU       a = min(|x|, 32);  p = exp2(max(P(a), -127));  fma(-a, p, 0 > x ? 0 : x)
 *              P(a) is near log2 of the normal distribution's tail beyond a, so that p is the tail
 *   SILU       t / (1 + exp2(min(max(t * -log2(e), -127), 128))),  t = max(x, -FLT_MAX)
 *   GELU_QUICK likewise with t * (-1.702 log2(e))
 *   GELU_TANH  likewise with fma(t * t, b1, b0) * t,  b0 = -2 sqrt(2 / pi) log2(e), b1 = 0.044715
 * b0 TANH       tanh(x) max and min here let NaN of x through, which makes its y NaN; infinities
 * give the limits.
 *
 * exp2(z):   n = (z + 1.5 * 2^23) - 1.5 * 2^23, the whole number nearest to z;  f = z - n
 *            ((1 * 0 + e[6]) * f + e[5]) * f + ... + e[0], each step fused;  times 2^n, which is 0
 *            for n = -127 and infinity for n = 128
 * P(a):      (t[10] * a + t[9]) * a + ... + t[0], likewise
 *
 * In units of u = 2^-24: e is within 0.27 u of 2^f, relatively; P within 0.64 u of log2 of the
 * tail, relatively, up to a = 3, within 1.1 u up to 4, 3.3 u up to 5, 13.6 u up to 6, and falls
 * faster than it from there on. */
typedef void headwise_activate_fn(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                                  const float *factor, ptrdiff_t factor_stride, ptrdiff_t m,
                                  ptrdiff_t n);

enum { HEADWISE_EXP2_TERMS = 7, HEADWISE_TAIL_TERMS = 11 };

static const float headwise_exp2_terms[HEADWISE_EXP2_TERMS] = {
    1.0f,           0x1.62e43p-1f,  0x1.ebfbdap-3f, 0x1.c6aed4p-5f,
    0x1.3b2dbcp-7f, 0x1.5f457p-10f, 0x1.41d396p-13f};

static const float headwise_tail_terms[HEADWISE_TAIL_TERMS] = {-1.0f,
                                                               -0x1.26aed8p+0f,
                                                               -0x1.d63acap-2f,
                                                               -0x1.adedbp-5f,
                                                               0x1.cb4e38p-8f,
                                                               -0x1.a87274p-15f,
                                                               -0x1.0c08c8p-12f,
                                                               0x1.242a54p-14f,
                                                               -0x1.4a29dap-17f,
                                                               0x1.96bd1ap-21f,
                                                               -0x1.ae2618p-26f};

/* Beyond it no tail is left. */
#define HEADWISE_TAIL_END 32.0f

/* Powers of two that exp2 takes. */
#define HEADWISE_EXP2_LEAST (-127.0f)
#define HEADWISE_EXP2_MOST 128.0f

/* Added to a number below 2^22 and taken away again, it leaves a whole number. */
#define HEADWISE_WHOLE 0x1.8p23f

/* Slopes of exp2's argument. */
#define HEADWISE_SILU_SLOPE (-0x1.715476p+0f)  /* -log2(e) */
#define HEADWISE_QUICK_SLOPE (-0x1.3a4cbep+1f) /* -1.702 log2(e) */
#define HEADWISE_TANH_SLOPE (-0x1.26aec2p+1f)  /* -2 sqrt(2 / pi) log2(e) */
#define HEADWISE_TANH_CUBE (-0x1.a5a7dp-4f)    /* 0.044715 of it */

#endif
