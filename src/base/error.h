/* The text behind headwise_last_error(). */
#ifndef HEADWISE_ERROR_H
#define HEADWISE_ERROR_H

#include "headwise/common.h"

/* Writes the calling thread's error text, cut to its buffer, and returns status, so that a check
 * reads `return headwise_fail(HEADWISE_ERR_INVALID, "...")`. */
enum headwise_status headwise_fail(enum headwise_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns from the calling function with the status of an expression that is not HEADWISE_OK. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        enum headwise_status try_status = (expression);                                            \
        if (try_status != HEADWISE_OK)                                                             \
            return try_status;                                                                     \
    } while (0)

#endif
