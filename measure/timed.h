/* Kernels that add up the time around each call of the ones they stand for, by groups. */
#ifndef MEASURE_TIMED_H
#define MEASURE_TIMED_H

#include "context/timing.h"
#include "kernels/dot.h"
#include "measure/groups.h"

/* What the timed kernels of one thread have added up, on a cache line of its own. */
struct timed_meter {
    _Alignas(64) uint64_t ticks[SHARE_GROUPS];
    uint64_t calls[SHARE_GROUPS];
    int64_t exponentials;
};

/* The tables of timed kernels. One set at a time in a process: plain, which they call, and what
 * they add up are in static memory. */
struct timed_tables {
    struct headwise_kernels kernels;
    struct headwise_dot dot;
    struct headwise_timing timing; /* both */
};

/* Fills the tables, in their own place, and makes their kernels call the plain ones. */
void timed_tables_make(struct timed_tables *tables, struct headwise_timing plain);

/* What one timed kernel adds: ticks that it counts as the kernel's, and ticks around the call. The
 * kernels call those of the tables made last again afterwards. */
struct timed_cost {
    double inside, outside;
};
struct timed_cost timed_cost_measure(void);

/* Sets what all threads have added up to zero. Not while a timed kernel runs. */
void timed_reset(void);

/* The meters of the threads that have run a timed kernel; *n is their number. */
const struct timed_meter *timed_meters(int *n);

#endif
