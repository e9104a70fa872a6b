/* Where the time of a call goes: its context is given a table of timed kernels. */
#ifndef MEASURE_SHARES_H
#define MEASURE_SHARES_H

#include <stdint.h>

#include "headwise/context.h"
#include "measure/groups.h"

/* "projections", "scores", ... */
const char *share_name(enum share_group group);

struct shares {
    double share[SHARE_GROUPS]; /* of the threads' time, 0 ... 1 */
    double rest;                /* 1 - their sum: the driver, copies, masks, waiting */
    double timed_s;             /* seconds of the timed call */
    int64_t exponentials;       /* that its softmax computed: one for each score */
};

/* Calls run(arg), which computes with this context, a few times with timed kernels, and gives the
 * shares of the fastest. Returns the first status of run that is not HEADWISE_OK. The context has
 * its own kernels again afterwards. One call at a time in a process: the timed kernels keep their
 * times in static memory. */
typedef enum headwise_status shares_run_fn(void *arg);
enum headwise_status shares_measure(struct shares *shares, headwise_context *context,
                                    shares_run_fn *run, void *arg);

#endif
