/* Element types of files: names and sizes. */
#include "safetensors/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [HEADWISE_FILE_BOOL] = {"BOOL", 1}, [HEADWISE_FILE_U8] = {"U8", 1},
    [HEADWISE_FILE_I8] = {"I8", 1},     [HEADWISE_FILE_U16] = {"U16", 2},
    [HEADWISE_FILE_I16] = {"I16", 2},   [HEADWISE_FILE_F16] = {"F16", 2},
    [HEADWISE_FILE_BF16] = {"BF16", 2}, [HEADWISE_FILE_U32] = {"U32", 4},
    [HEADWISE_FILE_I32] = {"I32", 4},   [HEADWISE_FILE_F32] = {"F32", 4},
    [HEADWISE_FILE_U64] = {"U64", 8},   [HEADWISE_FILE_I64] = {"I64", 8},
    [HEADWISE_FILE_F64] = {"F64", 8},
};

enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

size_t headwise_file_dtype_size(enum headwise_file_dtype dtype) {
    return (unsigned)dtype < N_DTYPES ? dtypes[dtype].size : 0;
}

const char *headwise_file_dtype_name(enum headwise_file_dtype dtype) {
    return (unsigned)dtype < N_DTYPES ? dtypes[dtype].name : "?";
}

bool headwise_io_dtype_from_name(enum headwise_file_dtype *dtype, const char *name) {
    for (int i = 0; i < N_DTYPES; i++) {
        if (*name == *dtypes[i].name && strcmp(name, dtypes[i].name) == 0) {
            *dtype = (enum headwise_file_dtype)i;
            return true;
        }
    }
    return false;
}
