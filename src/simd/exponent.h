/* exp2 where its argument is known to be within the powers of two of f32: kernels/activate.h has
 * the formula. Without a call all of a loop's vectors stay in registers. */
#ifndef HEADWISE_SIMD_EXPONENT_H
#define HEADWISE_SIMD_EXPONENT_H

#include "kernels/activate.h"
#include "vec.h"

/* terms[n-1] x^(n-1) + ... + terms[0]. */
ALWAYS_INLINE vec polynomial(const float *terms, int n, vec x) {
    vec sum = broadcast(terms[n - 1]);
    UNROLLED
    for (int i = n - 2; i >= 0; i--)
        sum = multiply_add(sum, x, broadcast(terms[i]));
    return sum;
}

ALWAYS_INLINE vec exp2_within(vec x) {
    vec whole = add(x, broadcast(HEADWISE_WHOLE));
    vec part = subtract(x, subtract(whole, broadcast(HEADWISE_WHOLE)));
    vec power = polynomial(headwise_exp2_terms, HEADWISE_EXP2_TERMS, part);
    return multiply(power, power_of_two(whole));
}

#endif
