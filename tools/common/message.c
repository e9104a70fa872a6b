/* Prints the one line of a failure. */
#include "common/message.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

int fail_with(enum exit_code code, const char *format, ...) {
    static atomic_flag has_failed = ATOMIC_FLAG_INIT;
    char line[1536];
    if (atomic_flag_test_and_set(&has_failed)) /* of what could not be done after that */
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    fflush(stdout); /* what was printed before the failure comes before it on a terminal */
    fprintf(stderr, "headwise: %s\n", line);
    return code;
}
