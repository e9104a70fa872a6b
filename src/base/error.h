/* The text behind headwise_last_error(). */
#ifndef HEADWISE_ERROR_H
#define HEADWISE_ERROR_H

#include "headwise/common.h"

/* Writes the calling thread's error text, cut to its buffer, and returns status, so that a check
 * reads `return headwise_fail(HEADWISE_ERR_INVALID, "...")`. */
enum headwise_status headwise_fail(enum headwise_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
