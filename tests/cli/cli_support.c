/* Runs the command, and reads and writes the files around it. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct cli_result cli;

static void read_back(char *text, size_t size, const char *path) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    size_t n = fread(text, 1, size - 1, stream);
    text[n] = '\0';
    fclose(stream);
    unlink(path);
}

static void run_child(char *const *arguments) {
    int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || err < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(99);
    execv(arguments[0], arguments);
    _exit(98);
}

void cli_run(const char *first, ...) {
    enum { MAX_ARGUMENTS = 32 };
    char *arguments[MAX_ARGUMENTS + 3], *wrapper = getenv("HEADWISE_TOOL_WRAPPER");
    int n = 0, status;
    va_list args;
    if (wrapper && *wrapper)
        arguments[n++] = wrapper;
    arguments[n++] = getenv("HEADWISE_TOOL");
    assert_non_null(arguments[n - 1]);
    va_start(args, first);
    for (const char *a = first; a; a = va_arg(args, const char *)) {
        assert_true(n <= MAX_ARGUMENTS);
        arguments[n++] = (char *)a;
    }
    arguments[n] = NULL;
    va_end(args);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_child(arguments);
    assert_int_equal(waitpid(child, &status, 0), child);
    cli.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_back(cli.out, sizeof cli.out, "stdout.txt");
    read_back(cli.err, sizeof cli.err, "stderr.txt");

    size_t length = strlen(cli.err);
    bool is_line = strncmp(cli.err, "headwise: ", 10) == 0 && length > 11 &&
                   strchr(cli.err, '\n') == cli.err + length - 1;
    if (cli.code == 0 ? length > 0 : !is_line)
        fail_msg("exit code %d with this on stderr: %s", cli.code, cli.err);
}

void cli_expect(int code, const char *text, const char *file, int line) {
    if (cli.code != code || !strstr(cli.err, text))
        fail_msg("%s:%d: exit code %d, expected %d; stderr \"%s\", expected \"%s\"", file, line,
                 cli.code, code, cli.err, text);
    if (code == 2 && access("out", F_OK) == 0)
        fail_msg("%s:%d: a refused call has written its output", file, line);
}

void cli_write(const char *path, const struct headwise_file_tensor *tensors, size_t n_tensors,
               const char *metadata) {
    struct headwise_file_metadata entries[16];
    size_t n = 0;
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", metadata ? metadata : "");
    for (char *entry = strtok(copy, ";"); entry; entry = strtok(NULL, ";")) {
        char *equals = strchr(entry, '=');
        assert_non_null(equals);
        assert_true(n < 16);
        *equals = '\0';
        entries[n++] = (struct headwise_file_metadata){entry, equals + 1};
    }
    if (headwise_safetensors_write(path, tensors, n_tensors, entries, n) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
}

headwise_safetensors *cli_open(const char *path) {
    headwise_safetensors *file = NULL;
    if (headwise_safetensors_open(&file, path) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return file;
}

void cli_expect_values(const char *path, const char *name, const double *expected, size_t n,
                       double relative) {
    headwise_safetensors *file = cli_open(path);
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    if (!tensor || tensor->n_elements != n)
        fail_msg("%s: no tensor %s of %zu elements", path, name, n);
    double *values = calloc(n + 1, sizeof *values);
    assert_non_null(values);
    assert_int_equal(headwise_safetensors_read_f64(values, file, tensor), HEADWISE_OK);
    for (size_t i = 0; i < n; i++) {
        bool good = isfinite(expected[i])
                        ? fabs(values[i] - expected[i]) <= relative * fabs(expected[i])
                        : values[i] == expected[i] || (isnan(values[i]) && isnan(expected[i]));
        if (!good)
            fail_msg("%s: %s[%zu] is %.9g, expected %.9g", path, name, i, values[i], expected[i]);
    }
    free(values);
    headwise_safetensors_close(file);
}

void cli_expect_shape(const char *path, const char *name, int rank, const int64_t *sizes) {
    headwise_safetensors *file = cli_open(path);
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->rank, rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(tensor->shape[i], sizes[i]);
    headwise_safetensors_close(file);
}

const char *cli_checkpoint(const char *name) {
    static char paths[2][512];
    static int n;
    const char *folder = getenv("HEADWISE_CHECKPOINTS");
    assert_non_null(folder);
    n = !n;
    snprintf(paths[n], sizeof(paths[n]), "%s/%s", folder, name);
    return paths[n];
}

void cli_write_input(const char *folder, const char *stem) {
    char path[64], name[64];
    snprintf(path, sizeof(path), "%s/expected.safetensors", folder);
    headwise_safetensors *file = cli_open(cli_checkpoint(path));
    struct headwise_file_tensor tensors[2];
    size_t n = 0;
    static const char *const leaves[2] = {"x", "memory"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s.%s", stem, leaves[i]);
        const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
        if (tensor != NULL) {
            tensors[n] = *tensor;
            tensors[n++].name = i == 0 ? "X" : "memory";
        }
    }
    assert_true(n > 0);
    cli_write("in", tensors, n, NULL);
    headwise_safetensors_close(file);
}

static void remove_folder(const char *path) {
    DIR *folder = opendir(".");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        unlink(entry->d_name); /* fails for . and .. */
    if (folder)
        closedir(folder);
    if (chdir("/") != 0 || rmdir(path) != 0)
        fprintf(stderr, "%s: not removed\n", path);
}

static int run_in_folder(int (*run)(const struct test_case *, size_t),
                         const struct test_case *cases, size_t n_cases) {
    char folder[] = "/tmp/headwise-cli-XXXXXX";
    if (!getenv("HEADWISE_TOOL") || !mkdtemp(folder) || chdir(folder) != 0) {
        fprintf(stderr, "HEADWISE_TOOL is not set, or no folder can be made\n");
        return 1;
    }
    int result = run(cases, n_cases);
    remove_folder(folder);
    return result;
}

int cli_main_tiers(const struct test_case *cases, size_t n_cases) {
    return run_in_folder(test_run_tiers, cases, n_cases);
}

int cli_main_once(const struct test_case *cases, size_t n_cases) {
    return run_in_folder(test_run_once, cases, n_cases);
}
