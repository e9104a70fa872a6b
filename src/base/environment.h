/* The only place that knows the environment. */
#ifndef HEADWISE_ENVIRONMENT_H
#define HEADWISE_ENVIRONMENT_H

#include <stdbool.h>

/* The value of an environment variable; NULL where it is not set or empty. */
const char *headwise_environment(const char *name);

/* Whether text is nothing but a whole number from 1 to most, in decimal digits; then *number is it.
 * Blanks around it are allowed, and, where list is set, whatever follows a comma. */
bool headwise_read_count(int *number, const char *text, int most, bool list);

#endif
