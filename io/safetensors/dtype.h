/* Element types by name. */
#ifndef HEADWISE_IO_DTYPE_H
#define HEADWISE_IO_DTYPE_H

#include "headwise-io/safetensors.h"

/* All names in one line, for error texts. */
#define HEADWISE_IO_DTYPE_NAMES "BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64 or F64"

/* Sets *dtype and returns true; false for any other text. */
bool headwise_io_dtype_from_name(enum headwise_file_dtype *dtype, const char *name);

#endif
