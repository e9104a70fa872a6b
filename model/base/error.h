/* The text behind headwise_model_last_error(). */
#ifndef HEADWISE_MODEL_ERROR_H
#define HEADWISE_MODEL_ERROR_H

#include "headwise/common.h"

/* Writes the calling thread's error text, cut to its buffer, and returns status. Control characters
 * in what the format inserts (names come from untrusted files) become '?'. */
enum headwise_status headwise_model_fail(enum headwise_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HEADWISE_ERR_NO_MEMORY with a text that says so. */
enum headwise_status headwise_model_no_memory(const char *where);

#endif
