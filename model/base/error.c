/* Keeps each thread's line about its last failing call. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "headwise-model/tokenizer.h"

static _Thread_local char last_error[1024];

enum headwise_status headwise_model_fail(enum headwise_status status, const char *format, ...) {
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

enum headwise_status headwise_model_no_memory(const char *where) {
    return headwise_model_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", where);
}

const char *headwise_model_last_error(void) {
    return last_error;
}
