/* The text behind headwise_io_last_error(). */
#ifndef HEADWISE_IO_ERROR_H
#define HEADWISE_IO_ERROR_H

#include "headwise/common.h"

/* Writes the calling thread's error text, cut to its buffer, and returns status. Control characters
 * in what the format inserts (tensor names come from untrusted files) become '?'. */
enum headwise_status headwise_io_fail(enum headwise_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HEADWISE_ERR_INVALID, with the names of function and argument as text, where pointer is NULL. */
enum headwise_status headwise_io_need(const char *where, const char *name, const void *pointer);

#endif
