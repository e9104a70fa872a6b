/* headwise tokens: tables, objects, and what is refused. */
#include "cli_support.h"

#include <stdio.h>
#include <string.h>

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void write_vocabulary(void) {
    write_file("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nplay\n##ing\ncafe\n.\n");
}

static void prints_a_table(enum headwise_isa isa) {
    (void)isa;
    write_vocabulary();
    cli_accepts("tokens", "vocab.txt", "Playing .", "x");
    assert_string_equal(cli.out, "      id type         bytes  piece\n"
                                 "       2    0             -  \"[CLS]\"\n"
                                 "       4    0      0      4  \"play\"\n"
                                 "       5    0      4      7  \"##ing\"\n"
                                 "       7    0      8      9  \".\"\n"
                                 "       3    0             -  \"[SEP]\"\n"
                                 "5 tokens\n"
                                 "      id type         bytes  piece\n"
                                 "       2    0             -  \"[CLS]\"\n"
                                 "       1    0      0      1  \"[UNK]\"\n"
                                 "       3    0             -  \"[SEP]\"\n"
                                 "3 tokens\n");
}

static void prints_objects(enum headwise_isa isa) {
    (void)isa;
    write_vocabulary();
    write_file("in", "{\"text\": \"play\", \"pair\": \"caf\\u00e9.\", \"id\": [1, \"a\"]}\n"
                     "{\"special\": false, \"text\": \"\", \"more\": 1}\n");
    cli_accepts("tokens", "vocab.txt", "--input", "in", "--jsonl");
    assert_string_equal(
        cli.out, "{\"id\": [1, \"a\"], \"ids\": [2, 4, 3, 6, 7, 3], \"types\": [0, 0, 0, 1, 1, 1], "
                 "\"pieces\": [\"[CLS]\", \"play\", \"[SEP]\", \"cafe\", \".\", \"[SEP]\"], "
                 "\"offsets\": [[0, 0], [0, 4], [0, 0], [0, 5], [5, 6], [0, 0]]}\n"
                 "{\"ids\": [], \"types\": [], \"pieces\": [], \"offsets\": []}\n");
    write_file("in", "play\r\n[SEP]");
    cli_refuses("in: line 1: line 1, column 1", "tokens", "vocab.txt", "--input", "in", "--jsonl");
    cli_accepts("tokens", "vocab.txt", "--input", "in", "--no-special", "--special-as-text");
    assert_non_null(strstr(cli.out, "3 tokens\n")); /* [SEP] as an unknown word in brackets */
}

static void refuses(enum headwise_isa isa) {
    (void)isa;
    write_vocabulary();
    write_file("in", "{\"pair\": \"a\"}\n");
    cli_refuses("a folder is missing", "tokens");
    cli_refuses("no text is given", "tokens", "vocab.txt");
    cli_refuses("as operands and as --input", "tokens", "vocab.txt", "a", "--input", "in");
    cli_refuses("none: cannot be opened", "tokens", "vocab.txt", "--input", "none");
    cli_refuses("none", "tokens", "none", "text");
    cli_refuses("no UTF-8 at byte 1", "tokens", "vocab.txt", "a\xff");
    cli_accepts("tokens", "vocab.txt", "a\xff", "--replace-invalid");
    cli_refuses("in: line 1: has no \"text\"", "tokens", "vocab.txt", "--input", "in", "--jsonl");
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(prints_a_table), TEST_CASE(prints_objects),
                                      TEST_CASE(refuses)};
    return cli_main_once(cases, TEST_COUNT(cases));
}
