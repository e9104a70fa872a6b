/* Files below the folder HEADWISE_VECTORS, and their tensors as the tests need them. */
#ifndef TESTS_VECTOR_FILE_H
#define TESTS_VECTOR_FILE_H

#include "headwise-io/safetensors.h"
#include "headwise/headwise.h"

#include "runner.h"

/* The folder, or NULL where HEADWISE_VECTORS is not set or names none. */
const char *vector_root(void);

/* The files FOLDER/NAME.safetensors of the given folders below the root, one test case a file, in
 * the order of their names, that accept() takes (NULL: all). Ends the list of cases at *n_cases;
 * the caller frees nothing. The argument of each case is the path below the root. */
struct test_case *vector_cases(const char *const *folders, size_t n_folders,
                               bool (*accept)(const headwise_safetensors *file),
                               void (*run_with)(enum headwise_isa isa, const void *path),
                               size_t *n_cases);

/* Runs the cases on every tier; without a folder, one case that is skipped. */
int vector_run(const struct test_case *cases, size_t n_cases);

/* Opens a file below the root; the test fails where it cannot be read. */
headwise_safetensors *vector_open(const char *path);

/* NULL where the file has no such tensor. */
const struct headwise_file_tensor *vector_find(const headwise_safetensors *file, const char *name);

/* The tensor must be there, with n elements where n >= 0. f32 arrays end at an unreadable page. */
double *vector_f64(const headwise_safetensors *file, const char *name, int64_t n);
float *vector_f32(const headwise_safetensors *file, const char *name, int64_t n);
int64_t *vector_i64(const headwise_safetensors *file, const char *name, int64_t n);

/* The elements as they are, F32, F16, BF16 or BOOL, ending at an unreadable page. */
void *vector_raw(const headwise_safetensors *file, const char *name, enum headwise_dtype *dtype);

/* Metadata as a number; fallback where the file has none. */
double vector_number(const headwise_safetensors *file, const char *key, double fallback);

#endif
