/* Tables of embeddings: kept in the type asked for, read row by row as f32. */
#include "stack/table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/memory.h"
#include "headwise-io/safetensors.h"

/* A row of the file's matrix as f32. */
static void widen(float *row, const struct headwise_matrix *matrix, int64_t index) {
    size_t n = (size_t)matrix->columns, at = (size_t)index * n;
    if (matrix->dtype == HEADWISE_F32)
        memcpy(row, (const float *)matrix->data + at, n * sizeof *row);
    else if (matrix->dtype == HEADWISE_F16)
        headwise_f32_from_f16(row, (const uint16_t *)matrix->data + at, n);
    else
        headwise_f32_from_bf16(row, (const uint16_t *)matrix->data + at, n);
}

/* The largest magnitude, by the order of the bits: NaN and infinity are above all numbers. */
static uint32_t largest_bits(const float *row, int64_t n) {
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &row[i], sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return (uint32_t)most;
}

/* Rounds a row to integers and its scale, the largest magnitude / 127; false: it is not finite.
 * The sum with 1.5 * 2^23 rounds to an integer, to even on a tie, and has it in its low bits: both
 * loops become SIMD, where rintf() would be a call for each of a table's millions. */
static bool round_row(int8_t *integers, float *scale, const float *row, int64_t n) {
    uint32_t bits = largest_bits(row, n);
    float most;
    if (bits >= 0x7f800000)
        return false;
    memcpy(&most, &bits, sizeof most);
    *scale = most / 127 > FLT_MIN ? most / 127 : FLT_MIN; /* else quotients may exceed 127 */
    float divisor = *scale;
    for (int64_t i = 0; i < n; i++) {
        float rounded = row[i] / divisor + 0x1.8p23f;
        int32_t integer;
        memcpy(&integer, &rounded, sizeof integer);
        integers[i] = (int8_t)(integer & 0xff);
    }
    return true;
}

/* Converts row index from f32 to the table's type; false: it does not fit. */
static bool narrow(const struct headwise_table *table, float *scales, int64_t index,
                   const float *row) {
    size_t n = (size_t)table->width, at = (size_t)index * n;
    char *data = (char *)table->data + at * headwise_dtype_size(table->dtype);
    switch (table->dtype) {
    case HEADWISE_F16:
        headwise_f16_from_f32((uint16_t *)data, row, n);
        for (size_t i = 0; i < n; i++) {
            if (fabsf(row[i]) >= 65520.0f) /* rounds to more than the largest */
                return false;
        }
        return true;
    case HEADWISE_BF16:
        headwise_bf16_from_f32((uint16_t *)data, row, n);
        return true;
    case HEADWISE_I8:
        return round_row((int8_t *)data, &scales[index], row, table->width);
    default:
        memcpy(data, row, n * sizeof *row);
        return true;
    }
}

/* After each stretch of a table the file's pages leave memory: MiniLM's words are 47 MB in the
 * file, 12 in 8 bits. */
enum { STRETCH_BYTES = 1 << 22 };

static void copy(void *data, size_t size_bytes, struct headwise_loader *loader, const void *from) {
    for (size_t at = 0, n; at < size_bytes; at += n) {
        n = size_bytes - at < STRETCH_BYTES ? size_bytes - at : STRETCH_BYTES;
        memcpy((char *)data + at, (const char *)from + at, n);
        headwise_checkpoint_release(loader->checkpoint);
    }
}

static enum headwise_status fill(const struct headwise_table *table, float *scales,
                                 struct headwise_loader *loader,
                                 const struct headwise_matrix *matrix, const char *name) {
    const struct headwise_allocator *memory = &loader->store->allocator;
    float *row = headwise_memory_take(memory, (size_t)table->width, sizeof *row);
    enum headwise_status status =
        row ? HEADWISE_OK : headwise_model_no_memory(headwise_checkpoint_path(loader->checkpoint));
    int64_t stretch = STRETCH_BYTES / 4 / table->width + 1;
    for (int64_t i = 0; !status && i < table->n_rows; i++) {
        if (i % stretch == 0)
            headwise_checkpoint_release(loader->checkpoint);
        widen(row, matrix, i);
        if (!narrow(table, scales, i, row))
            status = headwise_model_fail(HEADWISE_ERR_FORMAT,
                                         "%s: tensor \"%s\": row %lld does not fit the type %s",
                                         headwise_checkpoint_path(loader->checkpoint), name,
                                         (long long)i, headwise_dtype_name(table->dtype));
    }
    headwise_memory_give(memory, row, (size_t)table->width, sizeof *row);
    return status;
}

enum headwise_status headwise_table_load(struct headwise_table *table,
                                         struct headwise_loader *loader, const char *name) {
    HEADWISE_FLOAT_SCOPE();
    struct headwise_matrix matrix;
    char text[HEADWISE_NAME_SIZE + 8];
    snprintf(text, sizeof text, "%s.weight", name);
    enum headwise_status status = headwise_load_matrix(loader, text, 0, 0, &matrix);
    if (status)
        return status;
    size_t n = (size_t)(matrix.rows * matrix.columns);
    *table = (struct headwise_table){.n_rows = matrix.rows,
                                     .width = matrix.columns,
                                     .dtype = headwise_loader_packed(loader, matrix.dtype)};
    void *data = headwise_store_take(loader->store, n, headwise_dtype_size(table->dtype));
    float *scales = table->dtype == HEADWISE_I8
                        ? headwise_store_take(loader->store, (size_t)matrix.rows, sizeof *scales)
                        : NULL;
    table->data = data;
    table->scales = scales;
    if (!data || (table->dtype == HEADWISE_I8 && !scales))
        status = headwise_model_no_memory(headwise_checkpoint_path(loader->checkpoint));
    else if (table->dtype == matrix.dtype)
        copy(data, n * headwise_dtype_size(table->dtype), loader, matrix.data);
    else
        status = fill(table, scales, loader, &matrix, text);
    headwise_matrix_drop(loader, &matrix);
    return status;
}

void headwise_table_read(float *row, const struct headwise_table *table, int64_t index,
                         float factor) {
    size_t n = (size_t)table->width, at = (size_t)index * n;
    switch (table->dtype) {
    case HEADWISE_F16:
        headwise_f32_from_f16(row, (const uint16_t *)table->data + at, n);
        break;
    case HEADWISE_BF16:
        headwise_f32_from_bf16(row, (const uint16_t *)table->data + at, n);
        break;
    case HEADWISE_I8:
        for (size_t i = 0; i < n; i++)
            row[i] = (float)((const int8_t *)table->data)[at + i] * table->scales[index];
        break;
    default:
        memcpy(row, (const float *)table->data + at, n * sizeof *row);
    }
    for (size_t i = 0; factor != 1 && i < n; i++)
        row[i] *= factor;
}
