/* The loops behind the ceilings, in the vocabulary of the tier that includes this. */
#include "ceiling_tier.h"

#define TIER_NAME_(isa) bench_ceiling_##isa
#define TIER_NAME(isa) TIER_NAME_(isa)

/* Enough chains to hide the latency of two to four units, few enough for the registers. */
enum { CHAINS = LANES == 8 ? 12 : 16 };

/* Every chain stays near 0.5, far from infinities and subnormal numbers. */
static float multiply_add_rounds(ptrdiff_t n) {
    volatile float start = 0.5f, factor = 0.25f, summand = 0.375f;
    vec chain[CHAINS], times = broadcast(factor), plus = broadcast(summand);
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++)
        chain[i] = broadcast(start + (float)i);
    for (ptrdiff_t t = 0; t < n; t++) {
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++)
            chain[i] = multiply_add(chain[i], times, plus);
    }
    float lanes[LANES], sum = 0.0f;
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++) {
        store(lanes, chain[i]);
        sum += lanes[i % LANES];
    }
    return sum;
}

static float sum_streams(const float *x, ptrdiff_t n, int streams) {
    enum { UNROLL = 8, PER_STREAM = UNROLL / BENCH_MAX_STREAMS };
    vec sum[UNROLL];
    for (int i = 0; i < UNROLL; i++)
        sum[i] = broadcast(0.0f);
    ptrdiff_t apart = streams == 1 ? PER_STREAM * LANES : n / BENCH_MAX_STREAMS;
    ptrdiff_t step = streams == 1 ? UNROLL * LANES : PER_STREAM * LANES;
    ptrdiff_t rounds = n / (UNROLL * LANES);
    for (ptrdiff_t t = 0; t < rounds; t++, x += step) {
#pragma GCC unroll 8
        for (int i = 0; i < UNROLL; i++)
            sum[i] = add(sum[i], load(x + i / PER_STREAM * apart + i % PER_STREAM * LANES));
    }
    float lanes[LANES], total = 0.0f;
    for (int i = 0; i < UNROLL; i++) {
        store(lanes, sum[i]);
        total += lanes[0];
    }
    return total;
}

const struct bench_ceiling_tier TIER_NAME(BENCH_ISA) = {
    .multiply_add = multiply_add_rounds,
    .operations = 2 * CHAINS * LANES,
    .read = sum_streams,
};
