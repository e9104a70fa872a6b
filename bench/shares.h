/* Where the time of a call goes: its context is given a table of timed kernels. */
#ifndef BENCH_SHARES_H
#define BENCH_SHARES_H

#include "call.h"

/* The first word of a kernel's group in the reports. */
enum bench_group {
    BENCH_PROJECTIONS, /* project */
    BENCH_SCORES,      /* scores */
    BENCH_SOFTMAX,     /* softmax, merge, finish */
    BENCH_VALUES,      /* values */
    BENCH_PACKING,     /* pack_rows, pack_transposed, pack_columns, widen_f16, widen_bf16 */
    BENCH_GROUPS
};

/* "projections", "scores", ... */
const char *bench_group_name(enum bench_group group);

struct bench_shares {
    double share[BENCH_GROUPS]; /* of the threads' time, 0 ... 1 */
    double rest;                /* 1 - their sum: the driver, copies, masks, waiting */
    double timed_s;             /* seconds of the timed call */
};

/* Runs the call with timed kernels, a few times, and gives the shares of the fastest. The context
 * has its own kernels again afterwards. One call at a time in a process: the timed kernels keep
 * their times in static memory. */
void bench_shares_measure(struct bench_shares *shares, struct bench_call *call);

#endif
