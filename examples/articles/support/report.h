/* What every article program needs: memory or the end, calls or the end, claims as a table. */
#ifndef ARTICLES_REPORT_H
#define ARTICLES_REPORT_H

#include <headwise/headwise.h>

/* n zeroed elements; ends the program with a message where there is no memory. free() them. */
void *take(int64_t n, size_t size);

/* Ends the program with the library's message unless the call succeeded. */
void must(enum headwise_status status);

/* A context with one thread and all defaults: HEADWISE_ISA chooses the tier. */
headwise_context *open_context(void);

/* One line: the claim, what the article printed, what comes out here, and whether that agrees. The
 * first line of a program has a heading above it. article and here are formatted by text(). */
void claim(const char *what, const char *article, const char *here, bool holds);

/* printf() into one of a few buffers that are used in turn, enough for one call of claim(). */
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether x, printed with that many decimals, is what the article printed. */
bool prints_as(double x, double printed, int decimals);

/* "below 1e-06" for an error that must be rounding: a text that is the same on every tier, or the
 * error itself where it is larger. */
const char *rounding(double error, double limit);

/* ||a - b|| / ||b|| over n elements. */
double relative_error(const float *a, const float *b, int64_t n);

/* The largest |a[i] - b[i]|. */
double largest_difference(const float *a, const float *b, int64_t n);

#endif
