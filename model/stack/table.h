/* Tables whose rows are looked up: embeddings of words. */
#ifndef HEADWISE_MODEL_TABLE_H
#define HEADWISE_MODEL_TABLE_H

#include "block/loader.h"

struct headwise_table {
    int64_t n_rows, width;
    enum headwise_dtype dtype;
    const void *data;    /* [n_rows][width] */
    const float *scales; /* of I8, [n_rows]: a value is integer * scale */
};

/* Loads the tensor called name + ".weight" in the type that the loader's weights ask for. */
enum headwise_status headwise_table_load(struct headwise_table *table,
                                         struct headwise_loader *loader, const char *name);

/* row = factor * the table's row; in the default floating-point mode. */
void headwise_table_read(float *row, const struct headwise_table *table, int64_t index,
                         float factor);

#endif
