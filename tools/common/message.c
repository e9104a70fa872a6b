/* Prints the one line of a failure. */
#include "common/message.h"

#include <stdarg.h>
#include <stdio.h>

int fail_with(enum exit_code code, const char *format, ...) {
    char line[1536];
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
