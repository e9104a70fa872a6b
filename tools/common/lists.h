/* Comma-separated values of options. */
#ifndef HEADWISE_TOOLS_LISTS_H
#define HEADWISE_TOOLS_LISTS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets found[i] for every names[i] that text ("weights,lse") holds; NULL text holds none. Returns
 * an exit code; source begins its line. */
int list_read_names(bool *found, const char *const *names, int n_names, const char *text,
                    const char *source);

/* Whether text, which may be NULL, holds name. */
bool list_has(const char *text, const char *name);

/* Exactly n finite numbers. Returns an exit code. */
int list_read_numbers(float *numbers, int64_t n, const char *text, const char *source);

/* One to most increasing integers within 1 ... high; *n is their number. Returns an exit code. */
int list_read_integers(int64_t *values, int *n, int most, const char *text, const char *source,
                       int64_t high);

#endif
