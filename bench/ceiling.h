/* What the machine can do at most: multiply-adds from registers, and reads of a given size. */
#ifndef BENCH_CEILING_H
#define BENCH_CEILING_H

#include <headwise/headwise.h>

/* GFLOP/s of the tier's multiply-adds on all threads of the context, two operations each, with
 * nothing but registers (scalar: a multiplication and an addition of 16-byte vectors, which is what
 * compilers make of that tier). The best that the program has seen, of a few rounds of half a
 * millisecond in each call. */
double bench_ceiling_fma(headwise_context *context);

/* GB/s (10^9 bytes) at which the context's threads read size_bytes bytes, each a part of its own,
 * again and again with the tier's loads, from one place or from four at once: from the cache where
 * they fit, from memory where they do not. The best of a few rounds; 0 where there is no memory for
 * the buffer. */
double bench_ceiling_read(headwise_context *context, double size_bytes);

/* Frees the buffer that bench_ceiling_read() keeps. */
void bench_ceiling_release(void);

#endif
