/* The vocabulary that kernels are written in, and what of it is the same in all tiers.
 *
 * A tier's vec.h defines these words, in this order; the scalar tier those that it uses.
 *   TIER(name)             the name of a kernel in this tier: names end in _avx2 and so on
 *   ISA                    the tier in enum headwise_isa
 *   LANES, SUM_VECS        floats of a vector; vectors of HEADWISE_SUM_LANES floats
 *   MR, ROW_PANEL, NR, NR_MIN   of the table in kernels/kernels.h
 *   TILE_ROWS ... PROJECT_SLICE   of struct headwise_block_sizes there
 *   vec, halves            LANES floats; LANES numbers of 16 bits
 *   broadcast, load, store
 *   load_first(p, n)       lanes from n up are 0, and their memory is not touched; any n
 *   store_first(p, x, n)   lanes from n up are not written; any n
 *   select_first(n, x, y)  lanes below n from x, the others from y
 *   select_equal(a, b, x, y)   lanes where a == b from x, the others from y
 *   select_nan(a, x, y)    lanes where a is NaN from x, the others from y
 *   select_bytes(p, n, x, y)   lanes where p[l] != 0 from x, the others from y; bytes from n up are
 *                          not read
 *   add, subtract, multiply, divide, absolute
 *   multiply_add(a, b, c), multiply_subtract(a, b, c)   a * b + c and a * b - c, fused
 *   select_max(a, b)       a > b ? a : b
 *   select_min(a, b)       a < b ? a : b
 *   power_of_two(x)        2^n for x = n + 1.5 * 2^23, n whole; 0 for -127, infinity for 128
 *   exp2_vec, log_vec, tanh_vec
 *   fold_sum, fold_max     of HEADWISE_SUM_LANES lanes, by the tree of the contract: l with l+8,
 *                          then l+4, l+2, l+1
 *   select_magnitude(x, magnitude)   the larger of |x| and magnitude by their bits: infinity is
 *                          above all numbers, NaN above it
 *   is_finite(magnitude)   whether all lanes are
 *   transpose(row)         element j of row i becomes element i of row j, of LANES rows
 *   deinterleave(low, high)   from elements 0 ... LANES-1 and those after them to the even ones and
 *                          the odd ones; interleave(even, odd) goes back
 *   load_halves, load_first_halves, store_first_halves
 *   widen_f16, widen_bf16   quiet NaN and keep its payload; infinity, zero's sign and subnormals
 *                          come out exactly
 *   narrow_f16, narrow_bf16   round to nearest even. For bf16, adding 0x7fff, and 1 where the kept
 *                          part is odd, carries into it exactly when rounding goes up, and
 *                          turns the largest finite values into infinity
 *   load_integers(p)       LANES integers as floats
 *   store_integers(p, x, n)   the first n of LANES floats within [-127, 127], rounded to nearest
 *                          even
 *   ints, BYTE_OFFSET      LANES integers of 32 bits, which wrap around; what is taken from a
 *                          rounded component for its byte
 *   store_bytes(p, x)      LANES floats, rounded to nearest even, held from 0 to 255, less
 *                          BYTE_OFFSET
 *   load_ints, store_ints, broadcast_int, add_ints, subtract_ints, multiply_ints, floats_of */
#ifndef HEADWISE_WORDS_H
#define HEADWISE_WORDS_H

#include <math.h>

#include "kernels/kernels.h"

#define LOG2E 1.44269504088896340736f

/* Before a loop whose count is a constant: arrays it indexes can then be registers. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

/* Of functions that are inlined once for each constant they are called with. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* To nearest even, |x| at most 2^22: beyond 2^23 floats are whole numbers, and the sum is rounded
 * there. */
static inline float nearest_integer(float x) {
    volatile float above = x + 0x1.8p23f;
    return above - 0x1.8p23f;
}

/* What is subtracted from a score: a row that sees no key must not compute inf - inf. */
static inline float base_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

#endif
