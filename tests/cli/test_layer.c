/* headwise layer: the shipped sentence, and layers small enough to work out by hand. */
#include "cli_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENTENCE getenv("HEADWISE_SENTENCE")

/* Whether the table has a row that begins with label and then has these cells in this order. */
static bool has_row(const char *label, const char *const *cells, int n_cells) {
    static char copy[sizeof cli.out];
    memcpy(copy, cli.out, sizeof copy);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, label, strlen(label)) != 0 || line[strlen(label)] != ' ')
            continue;
        const char *at = line + strlen(label);
        for (int i = 0; at && i < n_cells; i++) {
            at += strspn(at, " ");
            at = strncmp(at, cells[i], strlen(cells[i])) == 0 ? strchr(at, '.') : NULL;
            at = at ? at + 4 : NULL; /* .123 */
        }
        return at != NULL;
    }
    return false;
}

#define ROW(label, ...) assert_true(has_row(label, (const char *const[]){__VA_ARGS__}, 4))

static void shows_what_the_heads_do(enum headwise_isa isa) {
    cli_accepts("layer", "--weights", SENTENCE, "--input", SENTENCE, "--heads", "4", "--check",
                "--isa", headwise_isa_name(isa));
    assert_non_null(strstr(cli.out, "layer of 4 heads of 12, width 48, 13 tokens; tier "));
    assert_non_null(strstr(cli.out, headwise_isa_name(isa)));
    /* the token before, the same word, the first token, everything alike */
    ROW("2:cat", "1:old    0.99", "12:cat   0.4", "0:the    0.8", "12:cat   0.0");
    ROW("3:saw", "2:cat    0.99", "10:saw   0.4", "0:the    0.8", "10:saw   0.0");
    ROW("9:dog", "8:the    0.99", "6:dog    0.4", "0:the    0.8", "6:dog    0.0");
    ROW("11:the", "10:saw   0.99", "0:the    0.2", "0:the    0.8", "0:the    0.0");
    assert_non_null(strstr(cli.out, "contributions of 4 heads sum to y: largest difference "));
}

static void times_the_tiers(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    cli_accepts("layer", "--weights", SENTENCE, "--input", SENTENCE, "--tokens", "", "--time",
                "--repeat", "3", "--threads", "1");
    assert_non_null(strstr(cli.out, "time of a forward (3 runs)"));
    assert_non_null(strstr(cli.out, tier));
    assert_null(strstr(cli.out, "strongest"));
    cli_accepts("layer", "--weights", SENTENCE, "--input", SENTENCE, "--time", "--isa", tier);
    const char *table = strstr(cli.out, "time of a forward (100 runs)");
    assert_non_null(table);
    for (int other = HEADWISE_ISA_SCALAR; other <= HEADWISE_ISA_NEON; other++) {
        char line[16];
        snprintf(line, sizeof line, "\n  %s ", headwise_isa_name((enum headwise_isa)other));
        assert_int_equal(strstr(table, line) != NULL, other == (int)isa);
    }
}

static void is_made_by_its_script(enum headwise_isa isa) {
    (void)isa;
    char command[1024];
    static struct {
        char bytes[65536];
        size_t size;
    } files[2];
    snprintf(command, sizeof command, "python3 '%s' made", getenv("HEADWISE_MAKE_SENTENCE"));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 2; i++) {
        FILE *stream = fopen(i ? "made" : SENTENCE, "rb");
        assert_non_null(stream);
        files[i].size = fread(files[i].bytes, 1, sizeof files[i].bytes, stream);
        fclose(stream);
    }
    assert_true(files[0].size > 1000 && files[0].size < 60000);
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].bytes, files[1].bytes, files[0].size);
}

/* Two heads of size 1 that see everything alike (W_Q is 0): the heads' outputs are the means of x
 * W_V. X = [[1,2],[3,6]], so the means of its columns are 2 and 4. */
static const float x[4] = {1, 2, 3, 6}, zeros[4], identity[4] = {1, 0, 0, 1};
static const float w_v[4] = {1, 2, 3, 4};       /* in_out: values of a mean row (2,4): 14, 20 */
static const float w_o[6] = {1, 0, 2, 0, 1, 3}; /* in_out 2 x 3: y = (14, 20, 28 + 60) */

static void write_layer(const char *metadata, const struct headwise_file_tensor *more,
                        size_t n_more) {
    struct headwise_file_tensor tensors[12] = {
        CLI_TENSOR("X", x, 2, 2),          CLI_TENSOR("W_Q", zeros, 2, 2),
        CLI_TENSOR("W_K", identity, 2, 2), CLI_TENSOR("W_V", w_v, 2, 2),
        CLI_TENSOR("W_O", w_o, 2, 3),
    };
    for (size_t i = 0; i < n_more; i++)
        tensors[5 + i] = more[i];
    cli_write("in", tensors, 5 + n_more, metadata);
}

#define LAYER "layer", "--weights", "in", "--input", "in", "-o", "out", "--isa"

static void computes_and_probes(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    write_layer("num_heads=2", NULL, 0);
    cli_accepts(LAYER, tier, "--probe", "weights,mean_weights,scores,lse,head_out,contrib");
    cli_expect_shape("out", "y", 2, (const int64_t[]){2, 3});
    cli_expect_shape("out", "weights", 3, (const int64_t[]){2, 2, 2});
    cli_expect_shape("out", "mean_weights", 2, (const int64_t[]){2, 2});
    cli_expect_shape("out", "scores", 3, (const int64_t[]){2, 2, 2});
    cli_expect_shape("out", "lse", 2, (const int64_t[]){2, 2});
    cli_expect_shape("out", "head_out", 3, (const int64_t[]){2, 2, 1});
    cli_expect_shape("out", "contrib", 3, (const int64_t[]){2, 2, 3});
    cli_expect_values("out", "y", (const double[]){14, 20, 88, 14, 20, 88}, 6, 1e-6);
    cli_expect_values("out", "head_out", (const double[]){14, 14, 20, 20}, 4, 1e-6);
    cli_expect_values("out", "contrib",
                      (const double[]){14, 0, 28, 14, 0, 28, 0, 20, 60, 0, 20, 60}, 12, 1e-6);
    cli_expect_values("out", "mean_weights", (const double[]){.5, .5, .5, .5}, 4, 1e-6);
    /* gates; a causal first token sees itself alone: values (7, 10) */
    cli_accepts(LAYER, tier, "--heads", "2", "--gate", "1,0", "--check");
    cli_expect_values("out", "y", (const double[]){14, 0, 28, 14, 0, 28}, 6, 1e-6);
    cli_accepts(LAYER, tier, "--heads", "2", "--gate", "0.5,-1", "--causal", "top-left");
    cli_expect_values("out", "y", (const double[]){3.5, -10, -23, 7, -20, -46}, 6, 1e-6);
    /* one kv head of size 2, one head */
    cli_accepts(LAYER, tier, "--heads", "1", "--probe", "head_out");
    cli_expect_shape("out", "head_out", 3, (const int64_t[]){1, 2, 2});
    cli_expect_values("out", "y", (const double[]){14, 20, 88, 14, 20, 88}, 6, 1e-6);
    unlink("out");
}

static void takes_biases_batches_and_layouts(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    static const float b_v[2] = {1, -1}, b_o[3] = {100, 200, 300};
    static const float w_v_turned[4] = {1, 3, 2, 4}, w_o_turned[6] = {1, 0, 0, 1, 2, 3};
    const struct headwise_file_tensor biases[] = {
        CLI_TENSOR("b_Q", b_v, 2), CLI_TENSOR("b_K", b_v, 2), CLI_TENSOR("b_V", b_v, 2),
        CLI_TENSOR("b_O", b_o, 3)};
    write_layer("num_heads=2", biases + 2, 2);
    cli_accepts(LAYER, tier, "--check");
    cli_expect_values("out", "y", (const double[]){115, 219, 387, 115, 219, 387}, 6, 1e-6);
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("X", x, 2, 1, 2), /* two entries of one token */
        CLI_TENSOR("h.W_Q", zeros, 2, 2), CLI_TENSOR("h.W_K", identity, 2, 2),
        CLI_TENSOR("h.W_V", w_v_turned, 2, 2), CLI_TENSOR("h.W_O", w_o_turned, 3, 2)};
    cli_write("in", tensors, 5, NULL);
    cli_accepts(LAYER, tier, "--heads", "2", "--layout", "out_in", "--prefix", "h.", "--probe",
                "weights,contrib", "--check");
    cli_expect_shape("out", "y", 3, (const int64_t[]){2, 1, 3});
    cli_expect_shape("out", "weights", 4, (const int64_t[]){2, 2, 1, 1});
    cli_expect_shape("out", "contrib", 4, (const int64_t[]){2, 2, 1, 3});
    cli_expect_values("out", "y", (const double[]){7, 10, 44, 21, 30, 132}, 6, 1e-6);
    unlink("out");
}

/* Keys and values from three rows of width 1. */
static void attends_to_a_memory(enum headwise_isa isa) {
    static const float memory[3] = {1, 2, 6}, narrow[2] = {1, 2};
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("X", x, 2, 2),        CLI_TENSOR("M", memory, 3, 1),
        CLI_TENSOR("W_Q", zeros, 2, 2),  CLI_TENSOR("W_K", narrow, 1, 2),
        CLI_TENSOR("W_V", narrow, 1, 2), CLI_TENSOR("W_O", identity, 2, 2)};
    cli_write("in", tensors, 6, "tokens=a b;num_heads=2;memory_tokens=p q r");
    cli_accepts(LAYER, headwise_isa_name(isa), "--memory", "M");
    cli_expect_values("out", "y", (const double[]){3, 6, 3, 6}, 4, 1e-6);
    assert_non_null(strstr(cli.out, "2 tokens on 3 of memory"));
    assert_non_null(strstr(cli.out, "strongest key of each token"));
    assert_non_null(strstr(cli.out, "\n1:b  0:p 0.333  0:p 0.333\n"));
    unlink("out");
    cli_refuses("option --memory-tokens has 1 tokens, expected 3, or a file: \"a\" is none", LAYER,
                "scalar", "--memory", "M", "--memory-tokens", "a");
}

/* Every line of the table is as wide as the others: Korean letters take two columns each. */
static void aligns_wide_letters(enum headwise_isa isa) {
    write_layer("num_heads=2;tokens=나는 \033x", NULL, 0);
    cli_accepts("layer", "--weights", "in", "--input", "in", "--isa", headwise_isa_name(isa));
    assert_non_null(strstr(cli.out, "\n0:나는  1:?x   0.500  1:?x   0.500\n"));
    assert_non_null(strstr(cli.out, "\n1:?x    0:나는 0.500  0:나는 0.500\n"));
    cli_accepts("layer", "--weights", "in", "--input", "in", "--causal", "bottom-right");
    assert_non_null(strstr(cli.out, "\n0:나는  -             -\n"));
}

static void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

/* Names that a command line cannot hold: spaces, line ends, bytes that are no UTF-8. */
static void reads_tokens_from_files(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    unlink("out");
    write_layer("num_heads=2", NULL, 0);
    write_text("words", "a b\r\n\xffz\n");
    cli_accepts(LAYER, tier, "--tokens", "words");
    assert_non_null(strstr(cli.out, "\n0:a b  1:\xef\xbf\xbdz  0.500  1:"));
    write_text("words", " [\"a\\nb\", \"\\u00e9\"]");
    cli_accepts(LAYER, tier, "--tokens", "words");
    assert_non_null(strstr(cli.out, "\n0:a?b  1:\xc3\xa9   0.500  1:"));
    unlink("out");
    write_text("words", "a\n");
    cli_refuses("words has 1 tokens, expected 2", LAYER, tier, "--tokens", "words");
    write_text("words", "[\"a\", 3]");
    cli_refuses("words: element 1 is no text", LAYER, tier, "--tokens", "words");
    write_text("words", "[\"a\", ");
    cli_refuses("words: line 1, ", LAYER, tier, "--tokens", "words");
    unlink("words");
}

static void takes_another_name_for_x(enum headwise_isa isa) {
    static const float other[4] = {3, 6, 3, 6};
    const struct headwise_file_tensor more[] = {CLI_TENSOR("h.0.input", other, 2, 2)};
    write_layer("num_heads=2", more, 1);
    cli_accepts(LAYER, headwise_isa_name(isa), "--x", "h.0.input");
    cli_expect_values("out", "y", (const double[]){21, 30, 132, 21, 30, 132}, 6, 1e-6);
    unlink("out");
    cli_refuses("in: has no tensor \"h.1\"", LAYER, "scalar", "--x", "h.1");
}

static void takes_narrow_weights(enum headwise_isa isa) {
    static const uint16_t half_identity[4] = {0x3c00, 0, 0, 0x3c00};
    static const double wide[4] = {1, 2, 3, 4};
    for (int mixed = 0; mixed < 2; mixed++) {
        struct headwise_file_tensor tensors[] = {
            CLI_TENSOR("X", x, 2, 2), CLI_TENSOR("W_Q", half_identity, 2, 2),
            CLI_TENSOR("W_K", zeros, 2, 2), CLI_TENSOR("W_V", half_identity, 2, 2),
            CLI_TENSOR("W_O", half_identity, 2, 2)};
        for (int i = 1; i < 5; i++)
            tensors[i].dtype = HEADWISE_FILE_F16;
        if (mixed) {
            tensors[4].data = wide;
            tensors[4].dtype = HEADWISE_FILE_F64;
        }
        cli_write("in", tensors, 5, "num_heads=2");
        cli_accepts(LAYER, headwise_isa_name(isa), "--check");
        cli_expect_values("out", "y",
                          mixed ? (const double[]){14, 20, 14, 20} : (const double[]){2, 4, 2, 4},
                          4, 1e-6);
    }
    unlink("out");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(shows_what_the_heads_do),
        TEST_CASE(times_the_tiers),
        TEST_CASE(is_made_by_its_script),
        TEST_CASE(computes_and_probes),
        TEST_CASE(takes_biases_batches_and_layouts),
        TEST_CASE(attends_to_a_memory),
        TEST_CASE(aligns_wide_letters),
        TEST_CASE(reads_tokens_from_files),
        TEST_CASE(takes_another_name_for_x),
        TEST_CASE(takes_narrow_weights),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
