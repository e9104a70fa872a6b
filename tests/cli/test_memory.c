/* Every allocation of a command fails in turn, alone and with all that follow: one line and a code
 * that is not 0, or, where the C library can do without it, the answer; and files that are whole or
 * not there. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 3, MOST_ARGUMENTS = 16 };

struct memory_case {
    const char *arguments[MOST_ARGUMENTS];
    const char *files[MOST_FILES]; /* that it writes */
    bool prints_times;             /* so that two runs differ */
};

struct file {
    char *bytes; /* NULL: there is none */
    size_t size;
};

static struct file take_file(const char *path) {
    struct file file = {0};
    struct stat info;
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return file;
    assert_int_equal(fstat(fileno(stream), &info), 0);
    file.size = (size_t)info.st_size;
    file.bytes = malloc(file.size + 1);
    assert_non_null(file.bytes);
    assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    unlink(path);
    return file;
}

/* Runs with allocations first ... last-1 failing; returns how many there were. */
static long run(const struct memory_case *c, long first, long last) {
    const char *const *a = c->arguments;
    char text[24];
    long n = -1;
    snprintf(text, sizeof text, "%ld", first);
    setenv("FAILING_FROM", text, 1);
    snprintf(text, sizeof text, "%ld", last);
    setenv("FAILING_BEFORE", text, 1);
    setenv("FAILING_COUNT", "count", 1);
    setenv("LD_PRELOAD", getenv("HEADWISE_FAILING"), 1);
    cli_run(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
            a[14], a[15], NULL);
    unsetenv("LD_PRELOAD");
    FILE *stream = fopen("count", "r");
    if (stream && fscanf(stream, "%ld", &n) != 1)
        n = -1;
    if (stream)
        fclose(stream);
    unlink("count");
    return n;
}

static void compare(const struct memory_case *c, long first, const char *out,
                    const struct file want[MOST_FILES]) {
    if (cli.code != 0 && cli.code != 2)
        fail_msg("allocation %ld fails: exit code %d", first, cli.code);
    if (cli.code == 0 && !c->prints_times && strcmp(cli.out, out) != 0)
        fail_msg("allocation %ld fails: exit code 0, but it prints \"%s\"", first, cli.out);
    for (int i = 0; i < MOST_FILES && c->files[i]; i++) {
        struct file got = take_file(c->files[i]);
        if (got.bytes ? got.size != want[i].size || memcmp(got.bytes, want[i].bytes, got.size) != 0
                      : cli.code == 0)
            fail_msg("allocation %ld fails: %s is not what it should be", first, c->files[i]);
        free(got.bytes);
    }
}

static void fail_each(const struct memory_case *c) {
    struct file want[MOST_FILES] = {{0}};
    if (!*getenv("HEADWISE_FAILING") || getenv("HEADWISE_TOOL_WRAPPER"))
        test_skip("allocations cannot be made to fail under a sanitizer or an emulator");
    long n = run(c, 0, 0), refused = 0;
    cli_expect(0, "", __FILE__, __LINE__);
    assert_true(n > 0);
    char *out = strdup(cli.out);
    assert_non_null(out);
    for (int i = 0; i < MOST_FILES && c->files[i]; i++) {
        want[i] = take_file(c->files[i]);
        assert_non_null(want[i].bytes);
    }
    for (long first = 0; first < n; first += test_share()) {
        for (int is_lasting = 0; is_lasting < 2; is_lasting++) {
            run(c, first, is_lasting ? 1000000 : first + 1);
            compare(c, first, out, want);
            refused += cli.code != 0;
        }
    }
    assert_true(refused > 0);
    print_message("%s: %ld allocations, each failed in turn, %ld runs refused\n", c->arguments[0],
                  n, refused);
    for (int i = 0; i < MOST_FILES; i++)
        free(want[i].bytes);
    free(out);
}

#define SENTENCE getenv("HEADWISE_SENTENCE")

static void survives_info(enum headwise_isa isa) {
    (void)isa;
    fail_each(&(struct memory_case){{"info", "--threads", "1"}, {NULL}, false});
    fail_each(&(struct memory_case){{"info", "--json", "--threads", "1"}, {NULL}, false});
}

static void survives_layer(enum headwise_isa isa) {
    (void)isa;
    fail_each(&(struct memory_case){{"layer", "--weights", SENTENCE, "--input", SENTENCE, "-o",
                                     "out", "--probe", "weights,contrib", "--threads", "1"},
                                    {"out"},
                                    false});
}

static void survives_attention(enum headwise_isa isa) {
    (void)isa;
    static const float values[24] = {1, 2, 3, 4, 5, 6};
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", values, 1, 2, 3, 4),
        CLI_TENSOR("K", values, 1, 2, 3, 4),
        CLI_TENSOR("V", values, 1, 2, 3, 4),
    };
    cli_write("in", tensors, 3, "is_causal=1");
    fail_each(
        &(struct memory_case){{"attention", "in", "-o", "out", "--threads", "1"}, {"out"}, false});
}

static void survives_inspect(enum headwise_isa isa) {
    (void)isa;
    FILE *stream = fopen("words", "w");
    assert_non_null(stream);
    fputs("[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l\",\"m\"]",
          stream);
    assert_int_equal(fclose(stream), 0);
    fail_each(&(struct memory_case){{"inspect", "--weights", SENTENCE, "--input", SENTENCE,
                                     "--tokens", "words", "--html", "page", "--json", "report",
                                     "--svg", "maps", "-q", "--threads", "1"},
                                    {"page", "report", "maps"},
                                    false});
}

static void survives_sweep(enum headwise_isa isa) {
    (void)isa;
    fail_each(&(struct memory_case){{"sweep", "--d-model", "16", "--heads", "1,2", "--seq", "4",
                                     "--repeat", "1", "--threads", "1"},
                                    {NULL},
                                    true});
}

static void survives_tokens(enum headwise_isa isa) {
    (void)isa;
    FILE *stream = fopen("vocab.txt", "w");
    assert_non_null(stream);
    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\nplay\n##ing\n.\n", stream);
    assert_int_equal(fclose(stream), 0);
    cli_run("tokens", "vocab.txt", "Playing.", NULL);
    if (strstr(cli.err, "without"))
        test_skip("this build has no tokenizer");
    fail_each(&(struct memory_case){{"tokens", "vocab.txt", "Playing."}, {NULL}, false});
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(survives_info),    TEST_CASE(survives_layer), TEST_CASE(survives_attention),
        TEST_CASE(survives_inspect), TEST_CASE(survives_sweep), TEST_CASE(survives_tokens),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
