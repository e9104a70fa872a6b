/* Exit codes and the one line that explains each failure. */
#ifndef HEADWISE_TOOLS_MESSAGE_H
#define HEADWISE_TOOLS_MESSAGE_H

enum exit_code {
    EXIT_GOOD = 0,
    EXIT_CHECK_FAILED = 1, /* the input was usable, the numbers are not as expected */
    EXIT_UNUSABLE = 2      /* a wrong option, file or tensor; nothing was written */
};

/* Prints "headwise: ", the text and a newline to stderr, control characters as '?', and returns
 * code, so that a check reads `return fail_with(...)`. The first call prints, later ones, which
 * follow from it, only return. */
int fail_with(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define fail(...) fail_with(EXIT_UNUSABLE, __VA_ARGS__)

#endif
