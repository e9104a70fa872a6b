/* headwise inspect: its table, its page, what it refuses. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENTENCE getenv("HEADWISE_SENTENCE")

static void expect_text(const char *text) {
    if (!strstr(cli.out, text))
        fail_msg("the output has no \"%s\":\n%s", text, cli.out);
}

/* The sentence's heads: the token before, the same word, the first token, everything alike. */
static void shows_the_sentence(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
#define LAYER "inspect", "--weights", SENTENCE, "--input", SENTENCE, "--isa", tier
    setenv("LC_ALL", "C.UTF-8", 1);
    cli_accepts(LAYER, "--links", "9");
    expect_text("layer of 4 heads of 12, width 48, 13 tokens; tier ");
    expect_text("\n   0   0   0.130  0.969    0.9 0.048 0.124 0.921 0.000   1.1   4.86  33.9% "
                "25.0%   12/12");
    expect_text("  0  11:the → 10:saw 0.998,");
    expect_text("\nwhat token 9:dog looks at\n   0  8:the 0.99");
    expect_text("   1  6:dog 0.49");
    expect_text("█");
    expect_text("weight by distance: 9-12 ahead, 5-8 ahead, 3-4 ahead, 2 ahead, 1 ahead, 0, 1, 2, "
                "3-4, 5-8, 9-12 tokens behind\n");
    expect_text("  off  alone  with those above\n    3  15.1%   15.1%\n    2  57.3%   55.5%\n");
    setenv("LC_ALL", "C", 1);
    cli_accepts(LAYER);
    assert_null(strstr(cli.out, "█"));
    assert_null(strstr(cli.out, "→"));
    expect_text("  0  11:the -> 10:saw 0.998,");
    unsetenv("LC_ALL");
    cli_accepts(LAYER, "--pairs", "0", "--tokens", "");
    assert_null(strstr(cli.out, "strongest pairs"));
#undef LAYER
}

/* Two heads that do the same are called alike; NaN in the input is shown, never hidden. */
static void tells_twins_and_nan(enum headwise_isa isa) {
    static float x[6] = {1, 2, -1, 1, 0, 3};
    static const float w[8] = {1, 2, 1, 2, -1, 1, -1, 1}, w_o[8] = {1, 2, 3, 4, 1, 2, 3, 4};
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("X", x, 3, 2),   CLI_TENSOR("W_Q", w, 2, 4),   CLI_TENSOR("W_K", w, 2, 4),
        CLI_TENSOR("W_V", w, 2, 4), CLI_TENSOR("W_O", w_o, 4, 2),
    };
    const char *tier = headwise_isa_name(isa);
    cli_write("in", tensors, 5, "num_heads=2");
    cli_accepts("inspect", "--weights", "in", "--input", "in", "--isa", tier);
    expect_text("like head 1 (cosine 1.00)\n");
    x[0] = NAN;
    cli_write("in", tensors, 5, "num_heads=2");
    cli_accepts("inspect", "--weights", "in", "--input", "in", "--isa", tier, "--json", "report");
    expect_text("nan");
    expect_text("the output is not finite: no head can be weighed\n");
    char *text = view_read("report");
    view report = view_of(text);
    assert_int_equal(view_kind(view_member(report, "order")), HEADWISE_JSON_NULL);
    assert_int_equal(view_kind(view_member(report, "output_norm")), HEADWISE_JSON_NULL);
    free(text);
    unlink("report");
    x[0] = 1;
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* tests/page opens it in a browser; this holds where there is none. */
static void writes_a_page(enum headwise_isa isa) {
    (void)isa;
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    FILE *stream = fopen("words", "wb");
    assert_non_null(stream);
    fputs("[\"</script><b>\", \"<!--\", \"&\", \"\\\"\", \"5\", \"6\", \"7\", \"8\", \"9\", "
          "\"10\", \"11\", \"12\", \"13\"]",
          stream);
    assert_int_equal(fclose(stream), 0);
    cli_accepts("inspect", "--weights", SENTENCE, "--input", SENTENCE, "--tokens", "words", "-q",
                "--html", "page", "--json", "report");
    char *page = view_read("page");
    assert_int_equal(strncmp(page, "<!doctype html>\n", 16), 0);
    assert_int_equal(count(page, "</script>"), 2);
    assert_int_equal(count(page, "<!--"), 0);
    assert_int_equal(count(page, " src="), 0);
    assert_int_equal(count(page, "<link"), 1); /* an empty icon, so that none is asked for */
    assert_int_equal(count(page, "url("), 0);
    assert_int_equal(count(page, "://"), 1); /* SVG's name, which is not loaded */
    assert_non_null(strstr(page, "\"http://www.w3.org/2000/svg\""));
    char *data = strstr(page, begin);
    assert_non_null(data);
    data += sizeof(begin) - 1;
    *strstr(data, "</script>") = '\0';
    view root = view_of(data);
    view tokens = view_member(root, "tokens");
    assert_string_equal(view_text(view_item(tokens, 0)), "</script><b>");
    assert_string_equal(view_text(view_item(tokens, 3)), "\"");
    char *text = view_read("report");
    view report = view_of(text);
    assert_true(view_equals(view_member(root, "map"), view_member(report, "map")));
    assert_true(view_equals(view_member(root, "layer"), view_member(report, "layer")));
    free(text);
    free(page);
    unlink("page");
    unlink("report");
    unlink("words");
}

static void refuses_what_is_wrong(enum headwise_isa isa) {
    (void)isa;
#define LAYER "inspect", "--weights", SENTENCE, "--input", SENTENCE, "--json", "out"
    cli_refuses("inspect: option --weights or --model is missing; see headwise help inspect",
                "inspect");
    cli_refuses("option --links has token 13, expected 0 to 12", LAYER, "--links", "1,13");
    cli_refuses("option --links is \"1;2\", expected numbers of tokens with commas", LAYER,
                "--links", "1;2");
    cli_refuses("option --links is \"1, 2\", expected numbers of tokens", LAYER, "--links", "1, 2");
    cli_refuses("option --links is \"\", expected numbers", LAYER, "--links", "");
    cli_refuses("option --pairs is 17, expected 0 to 16", LAYER, "--pairs", "17");
    cli_refuses("option --cells is 4, expected 8 to 1024", LAYER, "--cells", "4");
    cli_refuses("option --entry is 1, expected 0 to 0", LAYER, "--entry", "1");
    cli_refuses("option --tokens has 2 tokens, expected 13", LAYER, "--tokens", "a b");
    cli_refuses("option --memory-tokens is given without --memory", LAYER, "--memory-tokens", "a");
    cli_refuses("no/out: cannot be written", LAYER, "--json", "no/out");
    cli_refuses("no/out: cannot be written", LAYER, "--html", "no/out");
    cli_refuses("no/out: cannot be written", LAYER, "--svg", "no/out");
#undef LAYER
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(shows_the_sentence),
        TEST_CASE(tells_twins_and_nan),
        TEST_CASE(writes_a_page),
        TEST_CASE(refuses_what_is_wrong),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
