/* What is written by every command that writes: never over an input, refused before the work where
 * it cannot be, and nothing is left of a file that is too large. */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include "cli_support.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 16, ROWS = 40 };

/* "w" and "x" of a layer, "call" of an operator, "t" with names of tokens. */
static void write_inputs(void) {
    static float matrix[WIDTH * WIDTH], x[ROWS * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++)
        matrix[i] = (float)(i * 7 % 11 - 5) / 16;
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 5 % 13 - 6) / 8;
    const struct headwise_file_tensor weights[] = {
        CLI_TENSOR("W_Q", matrix, WIDTH, WIDTH), CLI_TENSOR("W_K", matrix, WIDTH, WIDTH),
        CLI_TENSOR("W_V", matrix, WIDTH, WIDTH), CLI_TENSOR("W_O", matrix, WIDTH, WIDTH)};
    const struct headwise_file_tensor input[] = {CLI_TENSOR("X", x, ROWS, WIDTH)};
    const struct headwise_file_tensor call[] = {CLI_TENSOR("Q", x, 1, 2, ROWS, WIDTH / 2),
                                                CLI_TENSOR("K", x, 1, 2, ROWS, WIDTH / 2),
                                                CLI_TENSOR("V", x, 1, 2, ROWS, WIDTH / 2)};
    cli_write("w", weights, 4, "num_heads=4");
    cli_write("x", input, 1, NULL);
    cli_write("call", call, 3, NULL);
    FILE *stream = fopen("t", "w");
    assert_non_null(stream);
    for (int i = 0; i < ROWS; i++)
        fprintf(stream, "t%d\n", i);
    assert_int_equal(fclose(stream), 0);
}

static int count_files(void) {
    DIR *folder = opendir(".");
    int n = 0;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

/* The bytes of all inputs, mixed. */
static uint64_t hash_inputs(void) {
    static const char *const names[] = {"w", "x", "call", "t"};
    uint64_t hash = 1;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        FILE *stream = fopen(names[i], "rb");
        assert_non_null(stream);
        for (int c = getc(stream); c != EOF; c = getc(stream))
            hash = (hash ^ (uint64_t)c) * UINT64_C(0x100000001b3);
        fclose(stream);
    }
    return hash;
}

#define LAYER "--weights", "w", "--input", "x"

/* Every command and option that writes a file to `path`. */
enum { N_WRITERS = 8 };
static void write_to(int writer, const char *path) {
    switch (writer) {
    case 0:
        cli_run("attention", "call", "-o", path, NULL);
        break;
    case 1:
        cli_run("layer", LAYER, "-o", path, NULL);
        break;
    case 2:
        cli_run("prune", LAYER, "--drop", "1", "-o", path, NULL);
        break;
    case 3:
        cli_run("inspect", LAYER, "--html", path, NULL);
        break;
    case 4:
        cli_run("inspect", LAYER, "--svg", path, NULL);
        break;
    case 5:
        cli_run("inspect", LAYER, "--json", path, NULL);
        break;
    case 6:
        cli_run("sweep", "--d-model", "8", "--heads", "1", "--seq", "2", "--repeat", "1", "--csv",
                path, NULL);
        break;
    default:
        cli_run("sweep", "--d-model", "8", "--heads", "1", "--seq", "2", "--repeat", "1", "--svg",
                path, NULL);
    }
}

static const char *const options[N_WRITERS] = {"--output", "--output", "--output", "--html",
                                               "--svg",    "--json",   "--csv",    "--svg"};

static void expect_refused(int writer, const char *path, const char *text) {
    write_to(writer, path);
    cli_expect(2, text, __FILE__, __LINE__);
    assert_string_equal(cli.out, ""); /* so nothing had been computed */
}

static void refuses_what_cannot_be_written(enum headwise_isa isa) {
    (void)isa;
    write_inputs();
    assert_int_equal(mkdir("folder", 0700), 0);
    int before = count_files();
    for (int writer = 0; writer < N_WRITERS; writer++) {
        char text[64];
        snprintf(text, sizeof text, "option %s is \"\", expected a file's name", options[writer]);
        expect_refused(writer, "", text);
        expect_refused(writer, "folder", "folder: is a folder, expected a file's name");
        expect_refused(writer, "no/such", "no/such: cannot be written: No such file or directory");
        expect_refused(writer, "x/y", "x/y: cannot be written: Not a directory");
        assert_int_equal(count_files(), before);
    }
    assert_int_equal(rmdir("folder"), 0);
}

static void expect_kept(uint64_t hash, const char *text) {
    cli_expect(2, text, __FILE__, __LINE__);
    assert_true(hash_inputs() == hash);
}

static void keeps_its_inputs(enum headwise_isa isa) {
    (void)isa;
    write_inputs();
    assert_int_equal(symlink("w", "link"), 0);
    uint64_t hash = hash_inputs();
    cli_run("attention", "call", "-o", "call", NULL);
    expect_kept(hash, "option --output is \"call\", expected another file than that of the input");
    static const char *const commands[] = {"layer", "prune", "inspect"};
    static const char *const names[] = {"w", "x", "./w", "../", "link"};
    char dots[512], folder[400];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(dots, sizeof dots, "../%s/x", strrchr(folder, '/') + 1);
    for (int c = 0; c < 3; c++) {
        for (size_t i = 0; i < TEST_COUNT(names); i++) {
            const char *path = i == 3 ? dots : names[i],
                       *of = i == 1 || i == 3 ? "input" : "weights";
            char text[600];
            snprintf(text, sizeof text, "is \"%s\", expected another file than that of --%s", path,
                     of);
            if (c == 1)
                cli_run("prune", LAYER, "--drop", "1", "-o", path, NULL);
            else
                cli_run(commands[c], LAYER, c == 0 ? "-o" : "--json", path, NULL);
            expect_kept(hash, text);
        }
    }
    cli_run("inspect", LAYER, "--tokens", "t", "--svg", "t", NULL);
    expect_kept(hash, "option --svg is \"t\", expected another file than that of --tokens");
    cli_run("sweep", "--weights", "w", "--csv", "w", NULL);
    expect_kept(hash, "option --csv is \"w\", expected another file than that of --weights");
    cli_run("sweep", "--d-model", "8", "--csv", "new", "--svg", "./new", NULL);
    expect_kept(hash, "option --csv is \"new\", expected another file than that of --svg");
    unlink("link");
}

/* A model's folder, as input and as output. */
static void keeps_models(enum headwise_isa isa) {
    (void)isa;
    char command[1200];
    cli_write_input("llama", "self.0");
    snprintf(command, sizeof command, "cp -r '%s' model && chmod -R u+w model",
             cli_checkpoint("llama"));
    assert_int_equal(system(command), 0);
    cli_refuses(
        "option --output is \"model/model.safetensors\", expected a file that is not of the "
        "model of --model",
        "layer", "--model", "model", "--input", "in", "-o", "model/model.safetensors");
    cli_refuses("\"model/config.json\", expected a file that is not of the model", "inspect",
                "--model", "model", "--input", "in", "--json", "model/config.json");
    cli_refuses("model/config.json: is there already, expected a folder without a model", "prune",
                "--model", "model", "--input", "in", "--keep", "1", "-o", "model");
    cli_refuses("option --output is \"\", expected a folder's name", "prune", "--model", "model",
                "--input", "in", "--keep", "1", "-o", "");
    cli_refuses("in: cannot be made: File exists", "prune", "--model", "model", "--input", "in",
                "--keep", "1", "-o", "in");
    cli_refuses("no/such/: cannot be made: No such file or directory", "prune", "--model", "model",
                "--input", "in", "--keep", "1", "-o", "no/such/");
    cli_accepts("layer", "--model", "model", "--input", "in", "-o", "model/y.safetensors");
    assert_int_equal(system("rm -r model"), 0);
    unlink("in");
}

static void set_limit(rlim_t size_bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size_bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* `ulimit -f`: the old file stays, and nothing beside it. Each of these files has more than 200
 * bytes, so has what inspect and sweep print where that goes to a file; lines of failures have
 * less. */
static void leaves_nothing_beyond_the_limit(enum headwise_isa isa) {
    (void)isa;
    write_inputs();
    FILE *stream = fopen("kept", "w");
    assert_non_null(stream);
    fputs("kept", stream);
    assert_int_equal(fclose(stream), 0);
    int before = count_files();
    for (int writer = 0; writer < N_WRITERS; writer++) {
        char text[8] = "";
        set_limit(200);
        write_to(writer, "kept");
        set_limit(RLIM_INFINITY);
        cli_expect(2, "kept: cannot be written: File too large", __FILE__, __LINE__);
        assert_int_equal(count_files(), before);
        stream = fopen("kept", "r");
        assert_non_null(stream);
        assert_int_equal(fread(text, 1, sizeof text, stream), 4);
        fclose(stream);
        assert_string_equal(text, "kept");
    }
    set_limit(200);
    cli_run("help", "layer", NULL);
    set_limit(RLIM_INFINITY);
    cli_expect(2, "standard output cannot be written", __FILE__, __LINE__);
    unlink("kept");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(refuses_what_cannot_be_written),
        TEST_CASE(keeps_its_inputs),
        TEST_CASE(keeps_models),
        TEST_CASE(leaves_nothing_beyond_the_limit),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
