/* Finds files below the folder HEADWISE_VECTORS, and reads their tensors. */
#define _DEFAULT_SOURCE
#include "vector_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "guard.h"

enum { MOST_CASES = 1024 };

const char *vector_root(void) {
    const char *root = getenv("HEADWISE_VECTORS");
    struct stat info;
    return root != NULL && root[0] != '\0' && stat(root, &info) == 0 ? root : NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_accepted(const char *path, bool (*accept)(const headwise_safetensors *file)) {
    headwise_safetensors *file = NULL;
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", vector_root(), path);
    if (headwise_safetensors_open(&file, full) != HEADWISE_OK) {
        fprintf(stderr, "tests: %s\n", headwise_io_last_error());
        exit(1);
    }
    bool result = accept == NULL || accept(file);
    headwise_safetensors_close(file);
    return result;
}

struct test_case *vector_cases(const char *const *folders, size_t n_folders,
                               bool (*accept)(const headwise_safetensors *file),
                               void (*run_with)(enum headwise_isa isa, const void *path),
                               size_t *n_cases) {
    static struct test_case cases[MOST_CASES];
    static char paths[MOST_CASES][192];
    *n_cases = 0;
    for (size_t f = 0; vector_root() != NULL && f < n_folders; f++) {
        struct dirent **entries;
        char folder[4096];
        snprintf(folder, sizeof(folder), "%s/%s", vector_root(), folders[f]);
        int n = scandir(folder, &entries, NULL, by_name);
        if (n < 0)
            print_message("HEADWISE_VECTORS has no folder %s\n", folders[f]);
        for (int i = 0; i < n; i++) {
            const char *name = entries[i]->d_name;
            char *path = paths[*n_cases];
            if (snprintf(path, sizeof(paths[0]), "%s/%s", folders[f], name) >=
                    (int)sizeof(paths[0]) ||
                *n_cases + 1 == MOST_CASES) {
                fprintf(stderr, "tests: too many files, or too long a name: %s\n", name);
                exit(1);
            }
            if (strstr(name, ".safetensors") != NULL && is_accepted(path, accept)) {
                cases[*n_cases] =
                    (struct test_case){.name = path, .run_with = run_with, .argument = path};
                ++*n_cases;
            }
            free(entries[i]);
        }
        if (n >= 0)
            free(entries);
    }
    return cases;
}

static void vectors(enum headwise_isa unused) {
    (void)unused;
    test_skip("HEADWISE_VECTORS is not set, or there is no such folder");
}

int vector_run(const struct test_case *cases, size_t n_cases) {
    const struct test_case none[] = {TEST_CASE(vectors)};
    if (vector_root() == NULL)
        return test_run_tiers(none, 1);
    if (n_cases == 0) {
        fprintf(stderr, "tests: no file below HEADWISE_VECTORS fits\n");
        return 1;
    }
    return test_run_tiers(cases, n_cases);
}

headwise_safetensors *vector_open(const char *path) {
    headwise_safetensors *file = NULL;
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", vector_root(), path);
    if (headwise_safetensors_open(&file, full) != HEADWISE_OK)
        fail_msg("%s", headwise_io_last_error());
    return file;
}

const struct headwise_file_tensor *vector_find(const headwise_safetensors *file, const char *name) {
    return headwise_safetensors_find(file, name);
}

static const struct headwise_file_tensor *must_find(const headwise_safetensors *file,
                                                    const char *name, int64_t n) {
    const struct headwise_file_tensor *t = vector_find(file, name);
    if (t == NULL)
        fail_msg("%s has no tensor %s", headwise_safetensors_path(file), name);
    if (n >= 0 && t->n_elements != (size_t)n)
        fail_msg("%s: %s has %zu elements, expected %lld", headwise_safetensors_path(file), name,
                 t->n_elements, (long long)n);
    return t;
}

double *vector_f64(const headwise_safetensors *file, const char *name, int64_t n) {
    const struct headwise_file_tensor *t = must_find(file, name, n);
    double *x = guard_plain(t->n_elements, sizeof(*x));
    assert_int_equal(headwise_safetensors_read_f64(x, file, t), HEADWISE_OK);
    return x;
}

float *vector_f32(const headwise_safetensors *file, const char *name, int64_t n) {
    const struct headwise_file_tensor *t = must_find(file, name, n);
    float *x = guard_floats(t->n_elements);
    assert_int_equal(headwise_safetensors_read_f32(x, file, t), HEADWISE_OK);
    return x;
}

int64_t *vector_i64(const headwise_safetensors *file, const char *name, int64_t n) {
    const struct headwise_file_tensor *t = must_find(file, name, n);
    int64_t *x = guard_plain(t->n_elements, sizeof(*x));
    assert_int_equal(headwise_safetensors_read_i64(x, file, t), HEADWISE_OK);
    return x;
}

void *vector_raw(const headwise_safetensors *file, const char *name, enum headwise_dtype *dtype) {
    const struct headwise_file_tensor *t = must_find(file, name, -1);
    switch (t->dtype) {
    case HEADWISE_FILE_F32:
        *dtype = HEADWISE_F32;
        break;
    case HEADWISE_FILE_F16:
        *dtype = HEADWISE_F16;
        break;
    case HEADWISE_FILE_BF16:
        *dtype = HEADWISE_BF16;
        break;
    case HEADWISE_FILE_BOOL:
        *dtype = HEADWISE_BOOL;
        break;
    default:
        fail_msg("%s: %s has type %s", headwise_safetensors_path(file), name,
                 headwise_file_dtype_name(t->dtype));
    }
    void *data = guard_alloc(t->size_bytes, 0);
    memcpy(data, t->data, t->size_bytes);
    return data;
}

double vector_number(const headwise_safetensors *file, const char *key, double fallback) {
    const char *text = headwise_safetensors_metadata(file, key);
    return text != NULL ? strtod(text, NULL) : fallback;
}
