/* Runs the command in a folder of the test's own. */
#ifndef TESTS_CLI_SUPPORT_H
#define TESTS_CLI_SUPPORT_H

#include "compare.h"
#include "runner.h"

#include "headwise-io/safetensors.h"

struct cli_result {
    int code; /* exit code; -1: it was ended by a signal */
    char out[1 << 16], err[1 << 12];
};

/* The last run. */
extern struct cli_result cli;

/* Runs HEADWISE_TOOL, by HEADWISE_TOOL_WRAPPER where that is set (an emulator does not emulate what
 * its program executes), with these arguments, NULL at the end. Whatever it does, a failure must
 * print exactly one line, "headwise: ...", on stderr, and success none. */
void cli_run(const char *first, ...);

/* Runs and expects exit code 2 and this text in the line; nothing may have been written to "out".
 */
#define cli_refuses(expected, ...)                                                                 \
    do {                                                                                           \
        cli_run(__VA_ARGS__, NULL);                                                                \
        cli_expect(2, expected, __FILE__, __LINE__);                                               \
    } while (0)

/* Runs and expects an exit code of 0. */
#define cli_accepts(...)                                                                           \
    do {                                                                                           \
        cli_run(__VA_ARGS__, NULL);                                                                \
        cli_expect(0, "", __FILE__, __LINE__);                                                     \
    } while (0)

/* Runs and expects exit code 1 and this text. */
#define cli_fails(expected, ...)                                                                   \
    do {                                                                                           \
        cli_run(__VA_ARGS__, NULL);                                                                \
        cli_expect(1, expected, __FILE__, __LINE__);                                               \
    } while (0)

void cli_expect(int code, const char *text, const char *file, int line);

/* Tensors for cli_write, f32 unless the dtype says otherwise. */
#define CLI_TENSOR(tensor_name, values, ...)                                                       \
    (struct headwise_file_tensor) {                                                                \
        .name = (tensor_name), .dtype = HEADWISE_FILE_F32,                                         \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .shape = {__VA_ARGS__},        \
        .data = (values)                                                                           \
    }

/* Writes a file; metadata is "key=value;key=value", NULL for none. */
void cli_write(const char *path, const struct headwise_file_tensor *tensors, size_t n_tensors,
               const char *metadata);

/* Opens a file that must be good. */
headwise_safetensors *cli_open(const char *path);

/* Reads a tensor of a file and expects these n values within a relative error. */
void cli_expect_values(const char *path, const char *name, const double *expected, size_t n,
                       double relative);

/* Expects a tensor of a file to have this shape. */
void cli_expect_shape(const char *path, const char *name, int rank, const int64_t *sizes);

/* The path of a generated checkpoint. Two calls may be used at a time. */
const char *cli_checkpoint(const char *name);

/* Writes the input of a layer ("self.0") of a checkpoint to "in": X and, where it has one, memory.
 */
void cli_write_input(const char *folder, const char *stem);

/* Moves into a new folder before the tests, and removes it after them. */
int cli_main_tiers(const struct test_case *cases, size_t n_cases);
int cli_main_once(const struct test_case *cases, size_t n_cases);

#endif
