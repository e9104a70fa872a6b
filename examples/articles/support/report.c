/* Prints what an experiment found, and ends it where a call failed. */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *take(int64_t n, size_t size) {
    void *memory = calloc(n > 0 ? (size_t)n : 1, size);
    if (!memory) {
        fprintf(stderr, "no memory for %lld elements of %zu bytes\n", (long long)n, size);
        exit(1);
    }
    return memory;
}

void must(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "%s: %s\n", headwise_status_name(status), headwise_last_error());
    exit(1);
}

headwise_context *open_context(void) {
    const struct headwise_context_options options = {.size = sizeof options, .n_threads = 1};
    headwise_context *context = NULL;
    must(headwise_context_create(&context, &options));
    return context;
}

void claim(const char *what, const char *article, const char *here, bool holds) {
    static bool has_heading;
    if (!has_heading)
        printf("\n%-46s %-18s %-22s %s\n", "claim", "article", "here", "verdict");
    has_heading = true;
    printf("%-46s %-18s %-22s %s\n", what, article, here, holds ? "holds" : "does not hold");
}

const char *text(const char *format, ...) {
    static char buffers[4][128];
    static int next;
    char *buffer = buffers[next++ % 4];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffers[0], format, arguments);
    va_end(arguments);
    return buffer;
}

bool prints_as(double x, double printed, int decimals) {
    double unit = pow(10, -decimals);
    return fabs(round(x / unit) - round(printed / unit)) < 0.5;
}

const char *rounding(double error, double limit) {
    return error < limit ? text("below %.0e", limit) : text("%.1e", error);
}

double relative_error(const float *a, const float *b, int64_t n) {
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(difference / size);
}

double largest_difference(const float *a, const float *b, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) { /* no fmax(): gcc 12 for aarch64 cannot compile such a loop */
        double difference = fabs((double)a[i] - (double)b[i]);
        largest = difference > largest ? difference : largest;
    }
    return largest;
}
