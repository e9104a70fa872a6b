/* Vectors on their way into a file: rows are kept in FILE.part as they come, so that a command that
 * was stopped can go on, and FILE is written whole at the end. */
#ifndef HEADWISE_TOOLS_VECTOR_FILE_H
#define HEADWISE_TOOLS_VECTOR_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How vectors are written, as sentence-transformers names them. */
enum vector_precision {
    VECTORS_F32,
    VECTORS_F16,
    VECTORS_INT8,   /* each column's range over all rows in 255 steps, from -128 on */
    VECTORS_UINT8,  /* the same from 0 on */
    VECTORS_BINARY, /* whether numbers are above 0, eight in a byte, minus 128 */
    VECTORS_UBINARY /* the same without the 128 */
};

struct vector_file {
    const char *path; /* of the file in the end: .npy or .safetensors */
    char *part;       /* path.part */
    FILE *stream;
    int64_t columns, rows;
    bool is_new; /* the part was made by this run */
};

/* Whether the name ends as a file that vectors can be written to. */
bool vector_file_is_named(const char *path);

/* The precision of that name (NULL: f32). Returns an exit code. */
int vector_precision_read(enum vector_precision *precision, const char *name);

/* Begins path.part, or, where resume is set and it is there, goes on behind its last whole row.
 * options says what the rows are made from, in one line: a part of other options is refused. Fails
 * where a part is there and resume is not set. file->rows is set to the rows that are there. */
int vector_file_begin(struct vector_file *file, const char *path, const char *options,
                      int64_t columns, bool resume);

/* Adds n rows and flushes them. */
int vector_file_add(struct vector_file *file, const float *rows, int64_t n);

/* Writes the file from its part, and removes that. */
int vector_file_finish(struct vector_file *file, enum vector_precision precision);

/* Closes and frees; a part that is not finished stays, unless this run made it and it has no row.
 */
void vector_file_close(struct vector_file *file);

#endif
