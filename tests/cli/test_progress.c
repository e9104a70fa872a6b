/* headwise sweep on a terminal: a bar while it works, nothing of it afterwards. */
#define _GNU_SOURCE /* posix_openpt */
#include "cli_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a small sweep with stderr on a terminal; returns what the terminal got. */
static size_t run_on_terminal(char *text, size_t size) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), status;
    if (terminal < 0 || grantpt(terminal) != 0) {
        print_message("no pseudo terminals here: /dev/pts is not mounted\n");
        skip();
    }
    assert_int_equal(unlockpt(terminal), 0);
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(other >= 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *wrapper = getenv("HEADWISE_TOOL_WRAPPER"), *tool = getenv("HEADWISE_TOOL");
        char *arguments[] = {wrapper ? wrapper : tool,
                             tool,
                             "sweep",
                             "--d-model",
                             "8",
                             "--heads",
                             "1,2",
                             "--seq",
                             "4",
                             "--repeat",
                             "2",
                             "--threads",
                             "1",
                             NULL};
        if (dup2(open("/dev/null", O_WRONLY), 1) < 0 || dup2(other, 2) < 0)
            _exit(99);
        execv(arguments[0], wrapper ? arguments : arguments + 1);
        _exit(98);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(other); /* the last one of the other side: after what is there reading fails */
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(terminal, text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(terminal);
    return n;
}

static void shows_progress_on_a_terminal(enum headwise_isa isa) {
    char text[8192];
    (void)isa;
    size_t n = run_on_terminal(text, sizeof text);
    assert_non_null(strstr(text, "\r["));
    assert_non_null(strstr(text, "] 6/6 2 heads, length 4, 1 thread")); /* 2 rows of 2 turns + 1 */
    assert_true(n > 4 && strcmp(text + n - 4, "\r\033[K") == 0);        /* the line is left empty */
    assert_null(strchr(text, '\n'));
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(shows_progress_on_a_terminal),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
