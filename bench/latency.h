/* Small calls of several threads, call by call: how long each takes, and what it costs. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdbool.h>

#include "headwise/headwise.h"

enum latency_call {
    LATENCY_LAYER, /* a layer of width 256 with 4 heads, 32 rows */
    LATENCY_STEP,  /* a layer of width 1024, 16 heads on 4, one row more behind 1024 cached ones */
    LATENCY_CALLS
};

enum latency_threads { LATENCY_SERIAL, LATENCY_OPENMP, LATENCY_POOL, LATENCY_THREADS };

struct latency_case {
    enum latency_call call;
    enum latency_threads threads;
    int n_threads; /* of each context, and of the pool */
    int n_callers;
    bool paced; /* each caller sleeps 1 ms between its calls */
    double seconds;
};

/* Microseconds that half, 99 % and 99.9 % of the calls took at most, calls per second of all
 * callers together, and processors that the process kept busy. */
struct latency {
    double p50, p99, p999, calls_per_s, cores;
};

/* False, with a line on stderr, where the case cannot run. */
bool latency_measure(struct latency *latency, const struct latency_case *c);

#endif
