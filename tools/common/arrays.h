/* Tensors of a file as arrays that the library takes. */
#ifndef HEADWISE_TOOLS_ARRAYS_H
#define HEADWISE_TOOLS_ARRAYS_H

#include "common/arena.h"
#include "headwise-io/safetensors.h"
#include "headwise/tensor.h"

/* A contiguous array. data is aligned to the element's size; it may lie in the mapped file, so that
 * it must not be written to. */
struct array {
    const char *name;
    void *data;
    enum headwise_dtype dtype;
    bool narrowed; /* was F64 */
    int rank;
    int64_t shape[HEADWISE_FILE_MAX_RANK];
    size_t n_elements;
};

/* What a tensor may be. */
enum array_kind {
    ARRAY_FLOAT, /* F32, F16, BF16 as they are; F64 rounded to f32, refused beyond its range */
    ARRAY_F32,   /* the same types, all made f32 */
    ARRAY_MASK   /* also BOOL; finite F64 beyond f32 become +-FLT_MAX, for -1e300 is no -inf */
};

/* Reads the tensor called name. Returns an exit code. Where there is none: fails if is_required,
 * else leaves array->data NULL. */
int array_load(struct array *array, struct arena *arena, const headwise_safetensors *file,
               const char *name, enum array_kind kind, bool is_required);

/* Fails unless the array has this rank and these sizes; a size below 0 may be anything. meaning
 * tells what the sizes are: "(batch, heads, queries, head size)". */
int array_expect(const struct array *array, const headwise_safetensors *file, int rank,
                 const int64_t *sizes, const char *meaning);

enum { SHAPE_TEXT = 192 };

/* "[2,3,*]" in text, a size below 0 as '*'. Returns text. */
const char *shape_text(char text[SHAPE_TEXT], int rank, const int64_t *sizes);

/* What the library's type is called in a file. */
enum headwise_file_dtype file_dtype(enum headwise_dtype dtype);

#endif
