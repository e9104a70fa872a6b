/* A line on the terminal that counts while something takes long. */
#ifndef HEADWISE_TOOLS_RATE_H
#define HEADWISE_TOOLS_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
    bool shown; /* stderr is a terminal */
    double begun, last;
};

/* Where stderr is no terminal nothing is ever printed. */
void rate_begin(struct rate *rate);

/* n texts are done, of total, or 0 where nobody knows. At most ten times a second. */
void rate_show(struct rate *rate, int64_t n, int64_t total);

/* Clears the line. */
void rate_end(struct rate *rate);

#endif
