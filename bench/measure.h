/* Measures a case of the operator or the layer, and sets its counters. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "shim.h"

/* For bench_add_shapes(): arg is a struct bench_case. Counters, all but the shares from the fastest
 * iteration:
 *   min_us, GFLOPs, GBps, tokens_per_s
 *   peak_GFLOPs, read_GBps     the machine's ceilings, measured in the same minute
 *   of_peak, of_read           GFLOPs and GBps as parts of them
 *   share_projections, share_scores, share_softmax, share_values, share_packing, share_rows,
 *   share_rest
 *   timed_slowdown             what measuring the shares cost, as a factor */
bench_fn bench_measure_call;

/* Frees what the last case has kept for the next repetition. Before main() returns. */
void bench_measure_end(void);

#endif
