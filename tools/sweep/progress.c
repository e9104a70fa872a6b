/* Draws a bar on a terminal while a sweep runs. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "sweep/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 30 };

static void draw(const struct progress *progress, const char *what) {
    static const char bar[WIDTH + 1] = "##############################";
    int filled = (int)(progress->done * WIDTH / progress->total);
    fprintf(stderr, "\r[%-*.*s] %lld/%lld %s\033[K", WIDTH, filled, bar, (long long)progress->done,
            (long long)progress->total, what);
    fflush(stderr);
}

void progress_begin(struct progress *progress, int64_t total) {
    *progress = (struct progress){.shown = total > 0 && isatty(STDERR_FILENO), .total = total};
    if (progress->shown)
        draw(progress, "");
}

void progress_step(struct progress *progress, const char *what) {
    progress->done++;
    if (progress->shown)
        draw(progress, what);
}

void progress_end(struct progress *progress) {
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}
