/* Counts texts on a terminal. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "calls/rate.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void rate_begin(struct rate *rate) {
    *rate = (struct rate){.shown = isatty(STDERR_FILENO), .begun = now()};
}

void rate_show(struct rate *rate, int64_t n, int64_t total) {
    double time = now();
    if (!rate->shown || time - rate->last < 0.1)
        return;
    rate->last = time;
    fprintf(stderr, "\r%lld", (long long)n);
    if (total > 0)
        fprintf(stderr, "/%lld", (long long)total);
    fprintf(stderr, " texts, %.0f/s\033[K", (double)n / (time - rate->begun + 1e-9));
    fflush(stderr);
}

void rate_end(struct rate *rate) {
    if (rate->shown)
        fprintf(stderr, "\r\033[K");
    rate->shown = false;
}
