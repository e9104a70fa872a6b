/* The command line itself: help, version, hints, one line for everything unusable. */
#include "cli_support.h"

#include <string.h>

#include "headwise/common.h"

static void prints_help_and_version(enum headwise_isa isa) {
    (void)isa;
    cli_accepts("--version");
    assert_string_equal(cli.out, "headwise " HEADWISE_VERSION "\n");
    cli_accepts("--help");
    assert_non_null(strstr(cli.out, "attention"));
    static const char *const names[] = {"info", "attention", "layer", "inspect", "prune"};
    for (int i = 0; i < 3; i++) {
        static char first[sizeof cli.out];
        cli_accepts("help", names[i]);
        memcpy(first, cli.out, sizeof first);
        assert_non_null(strstr(first, "usage: headwise "));
        cli_accepts(names[i], "--help");
        assert_string_equal(first, cli.out);
        for (char *line = strtok(first, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) <= 100);
    }
    cli_accepts("help", "attention");
    assert_non_null(strstr(cli.out, "--softmax_precision"));
    assert_non_null(strstr(cli.out, "bound"));
}

static void refuses_unknown_words(enum headwise_isa isa) {
    (void)isa;
    cli_run(NULL);
    assert_int_equal(cli.code, 2);
    cli_refuses("unknown command \"atention\"; did you mean attention?", "atention");
    cli_refuses("unknown command \"quux\"; see headwise --help", "quux");
    cli_refuses("unknown command \"lair\"", "help", "lair");
    cli_refuses("attention: unknown option --chek; did you mean --check?", "attention", "--chek");
    cli_refuses("did you mean --softcap?", "attention", "--soft-cap=2");
    cli_refuses("unknown option --zzz; see headwise help layer", "layer", "--zzz");
    cli_refuses("unknown option -x", "info", "-x");
    cli_refuses("info: takes no operand, but \"a\"", "info", "a");
    cli_refuses("takes one input file, but \"a\" and \"b\"", "attention", "a", "b");
}

static void refuses_bad_values(enum headwise_isa isa) {
    (void)isa;
    cli_refuses("option --threads needs a value: N", "info", "--threads");
    cli_refuses("option --threads is \"two\", expected an integer", "info", "--threads", "two");
    cli_refuses("expected an integer", "info", "--threads", "2x");
    cli_refuses("expected an integer", "info", "--threads", "");
    cli_refuses("expected an integer", "info", "--threads", "99999999999999999999");
    cli_refuses("option --threads is \" 4\", expected an integer", "info", "--threads", " 4");
    cli_refuses("expected an integer", "info", "--threads", "\t4");
    cli_refuses("expected an integer", "info", "--threads", "4 ");
    cli_refuses("option --scale is \" 1\", expected a finite number", "attention", "--scale", " 1");
    cli_refuses("option --heads is \"1, 2\", expected integers with commas", "sweep", "--heads",
                "1, 2");
    cli_refuses("option --threads is 0, expected 1 to 1024", "info", "--threads", "0");
    cli_refuses("option --threads is 1025", "info", "--threads=1025");
    cli_refuses("option --isa is \"sse\", expected scalar", "info", "--isa", "sse");
    cli_refuses("option --json takes no value", "info", "--json=1");
    cli_refuses("option --scale is \"x\", expected a finite number", "attention", "--scale", "x");
    cli_refuses("expected a finite number", "attention", "--scale", "nan");
    cli_refuses("expected a finite number", "attention", "--scale", "1e999");
    cli_refuses("IN.safetensors is missing", "attention");
    cli_refuses("nothing to do", "attention", "a");
    cli_refuses("no-such-file: cannot be opened: No such file", "attention", "no-such-file", "-o",
                "out");
    cli_refuses("?[31m: cannot be opened", "attention", "\033[31m", "--check");
    cli_refuses("option --weights or --model is missing", "layer");
    cli_refuses("option --input is missing", "layer", "--weights", "a");
    cli_refuses("a: cannot be opened", "layer", "--weights", "a", "--input", "b");
}

static void accepts_every_spelling(enum headwise_isa isa) {
    (void)isa;
    cli_accepts("info", "--threads", "1");
    assert_non_null(strstr(cli.out, "threads   1\n"));
    cli_accepts("info", "--threads=1");
    assert_non_null(strstr(cli.out, "threads   1\n"));
    cli_refuses("--is_causal is \"y\"", "attention", "--is-causal", "y");
    cli_refuses("--is_causal is \"y\"", "attention", "--is_causal", "y");
    cli_refuses("--output needs a value", "attention", "-o");
    cli_refuses("-x: cannot be opened", "attention", "-oout", "--", "-x");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(prints_help_and_version),
        TEST_CASE(refuses_unknown_words),
        TEST_CASE(refuses_bad_values),
        TEST_CASE(accepts_every_spelling),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
