/* Keeps the error text of each thread. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[256];

enum headwise_status headwise_fail(enum headwise_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

const char *headwise_version(void) {
    return HEADWISE_VERSION;
}

int headwise_version_number(void) {
    return HEADWISE_VERSION_NUMBER;
}

const char *headwise_last_error(void) {
    return last_error;
}

const char *headwise_status_name(enum headwise_status status) {
    switch (status) {
    case HEADWISE_OK:
        return "ok";
    case HEADWISE_ERR_INVALID:
        return "invalid argument";
    case HEADWISE_ERR_NO_MEMORY:
        return "out of memory";
    case HEADWISE_ERR_UNSUPPORTED:
        return "tier not available";
    case HEADWISE_ERR_FULL:
        return "cache full";
    case HEADWISE_ERR_FORMAT:
        return "unexpected format";
    case HEADWISE_ERR_IO:
        return "input or output error";
    case HEADWISE_ERR_CANCELLED:
        return "cancelled";
    }
    return "unknown status";
}
