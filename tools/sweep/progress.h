/* A bar on the terminal while something takes long. */
#ifndef HEADWISE_TOOLS_PROGRESS_H
#define HEADWISE_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown; /* stderr is a terminal */
    int64_t done, total;
};

/* Where stderr is no terminal nothing is ever printed. */
void progress_begin(struct progress *progress, int64_t total);

/* One more step is done; what: what comes next, "8 heads, length 512". */
void progress_step(struct progress *progress, const char *what);

/* Clears the line. */
void progress_end(struct progress *progress);

#endif
