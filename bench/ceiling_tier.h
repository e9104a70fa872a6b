/* The loops behind the ceilings, once for each tier. */
#ifndef BENCH_CEILING_TIER_H
#define BENCH_CEILING_TIER_H

#include <stddef.h>

struct bench_ceiling_tier {
    /* Runs n rounds of operations floating point operations on registers and returns a number that
     * depends on all of them. */
    float (*multiply_add)(ptrdiff_t n);
    int operations;
    /* Reads n floats from streams places at once, n a multiple of BENCH_READ_STEP; returns their
     * sum. */
    float (*read)(const float *x, ptrdiff_t n, int streams);
};

enum { BENCH_READ_STEP = 1024, BENCH_MAX_STREAMS = 4 };

extern const struct bench_ceiling_tier bench_ceiling_scalar;
extern const struct bench_ceiling_tier bench_ceiling_avx2;
extern const struct bench_ceiling_tier bench_ceiling_avx512;
extern const struct bench_ceiling_tier bench_ceiling_neon;

#endif
