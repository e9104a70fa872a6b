/* The text behind headwise_io_last_error(). */
#include "files/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "headwise-io/safetensors.h"

/* Room for a path of 4096 bytes would be the limit; a longer line helps nobody. */
static _Thread_local char last_error[1024];

enum headwise_status headwise_io_fail(enum headwise_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    for (char *c = last_error; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    return status;
}

enum headwise_status headwise_io_need(const char *where, const char *name, const void *pointer) {
    return pointer ? HEADWISE_OK
                   : headwise_io_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where, name);
}

const char *headwise_io_last_error(void) {
    return last_error;
}
