/* Error bounds of f32 arithmetic. A test compares with float64 under a bound that follows from the
 * number of roundings, never under a tolerance found by trial.
 *
 * u = 2^-24 is the unit roundoff of f32: fl(a op b) = (a op b)(1 + e), |e| <= u, also for fma().
 * n roundings in a chain give a relative error of at most gamma(n) = n u / (1 - n u) (Higham,
 * Accuracy and Stability of Numerical Algorithms, 3.1). A dot product of length n, by fma or by
 * multiply and add, in any fixed order, has an absolute error of at most gamma(n) sum |a_i b_i|.
 *
 * Below the normal range a rounding loses at most half of 2^-149 absolutely, and a product that
 * underflows in a vector unit that flushes to zero loses less than 2^-126. */
#ifndef TESTS_BOUNDS_H
#define TESTS_BOUNDS_H

#include <math.h>

#include "headwise/common.h"

#define BOUND_U 0x1p-24
#define BOUND_TINY 0x1p-149   /* spacing of f32 near 0 */
#define BOUND_NORMAL 0x1p-126 /* smallest normal f32 */

/* Largest relative error of SLEEF's u10 functions: 1.0 ulp, and an ulp is at most 2u of the value.
 */
#define BOUND_U10 (2 * BOUND_U)

static inline double bound_gamma(double n) {
    return n * BOUND_U / (1 - n * BOUND_U);
}

/* Largest error of rounding x to the type, to nearest: half the spacing at |x|. */
static inline double bound_rounding(enum headwise_dtype dtype, double x) {
    x = fabs(x);
    if (dtype == HEADWISE_F16)
        return x * 0x1p-11 + 0x1p-25;
    if (dtype == HEADWISE_BF16)
        return x * 0x1p-8 + 0x1p-134;
    return x * BOUND_U + BOUND_TINY / 2;
}

#endif
