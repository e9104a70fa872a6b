/* A machine without LAPACK's library, played by a file in its place that is none: only commands
 * that tell ranks need it, and they say so before they work. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hide_lapack(void) {
    FILE *stream = fopen("liblapacke.so.3", "w");
    assert_non_null(stream);
    fputs("no library\n", stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(setenv("LD_LIBRARY_PATH", ".", 1), 0);
}

static void commands_without_ranks_need_no_lapack(enum headwise_isa isa) {
    const char *sentence = getenv("HEADWISE_SENTENCE"), *tier = headwise_isa_name(isa);
    assert_non_null(sentence);
    hide_lapack();
    cli_accepts("info");
    cli_accepts("layer", "--weights", sentence, "--input", sentence, "--heads", "4", "--isa", tier);
    cli_accepts("prune", "--weights", sentence, "--input", sentence, "--keep", "2", "-o", "less",
                "--isa", tier);
    cli_accepts("sweep", "--d-model", "8", "--heads", "1,2", "--seq", "4", "--repeat", "1", "--isa",
                tier);
    unlink("less");
}

static void commands_with_ranks_say_what_is_missing(enum headwise_isa isa) {
    (void)isa;
    const char *sentence = getenv("HEADWISE_SENTENCE");
    static const char want[] =
        "ranks need the library LAPACKE, Debian's package liblapacke: ./liblapacke.so.3: ";
    hide_lapack();
    cli_refuses(want, "inspect", "--weights", sentence, "--input", sentence, "--heads", "4",
                "--json", "out");
    assert_ptr_equal(strstr(cli.err, "headwise: inspect: ranks need"), cli.err);
    cli_refuses(want, "sweep", "--weights", sentence, "--csv", "out");
    assert_ptr_equal(strstr(cli.err, "headwise: option --weights: ranks need"), cli.err);
    assert_string_equal(cli.out, "");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(commands_without_ranks_need_no_lapack),
        TEST_CASE(commands_with_ranks_say_what_is_missing),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
