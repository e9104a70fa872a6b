/* Takes tensors out of the files while a network is opened: checks their shapes, keeps what stays,
 * and knows at the end which ones nobody has asked for. */
#ifndef HEADWISE_MODEL_LOADER_H
#define HEADWISE_MODEL_LOADER_H

#include "families/description.h"

/* Memory that lives as long as the network: pieces in a list. */
struct headwise_store {
    struct headwise_allocator allocator;
    struct headwise_store_piece *pieces;
    size_t size_bytes;
};

/* size_bytes bytes, aligned for SIMD loads; NULL: no memory. */
void *headwise_store_take(struct headwise_store *store, size_t count, size_t item_bytes);
void headwise_store_free(struct headwise_store *store);

struct headwise_loader {
    headwise_context *context;
    headwise_checkpoint *checkpoint;
    const struct headwise_description *description;
    enum headwise_checkpoint_weights weights;
    struct headwise_store *store;
    struct headwise_names { /* of tensors that were asked for */
        const char **at;
        size_t n, capacity;
    } names;
};

/* A matrix as it lies in the file, or a copy of it in f32 that is freed by _drop. */
struct headwise_matrix {
    const void *data;
    enum headwise_dtype dtype;
    int64_t rows, columns;
    float *copy;
    size_t n_copied;
};

/* In all of these name is the whole name of a tensor, and a failure says which tensor was missing,
 * or had which shape. */

/* Notes that a tensor was asked for. */
enum headwise_status headwise_loader_note(struct headwise_loader *loader, const char *name);

/* n numbers, in memory of the store. */
enum headwise_status headwise_load_vector(struct headwise_loader *loader, const char *name,
                                          int64_t n, const float **vector);

/* A tensor of rows x columns, further axes counted as columns; rows or columns 0: as the file has
 * it. Keeps F32, F16 and BF16; others become F32. */
enum headwise_status headwise_load_matrix(struct headwise_loader *loader, const char *name,
                                          int64_t rows, int64_t columns,
                                          struct headwise_matrix *matrix);
void headwise_matrix_drop(struct headwise_loader *loader, struct headwise_matrix *matrix);

/* Changes matrices so that all have one type, F32 where they differ. */
enum headwise_status headwise_matrices_join(struct headwise_loader *loader,
                                            struct headwise_matrix *matrices, int n);

/* The type in which matrices of this one are kept. */
enum headwise_dtype headwise_loader_packed(const struct headwise_loader *loader,
                                           enum headwise_dtype dtype);

/* Whether rows are rounded to bytes as well, and how many of their inputs together (dynamic_int8,
 * dynamic_group). */
bool headwise_loader_rounds_rows(const struct headwise_loader *loader, int64_t *group);

/* The norm called name, of n numbers; its scale is as for states that are divided by
 * residual_scale where is_scaled. */
enum headwise_status headwise_load_norm(struct headwise_loader *loader, const char *name, int64_t n,
                                        bool is_scaled, struct headwise_row_norm *norm);

/* HEADWISE_OK where every tensor of the files was asked for or carries nothing. */
enum headwise_status headwise_loader_finish(struct headwise_loader *loader);
void headwise_loader_close(struct headwise_loader *loader);

/* The core's and headwise-io's error lines become this library's. */
enum headwise_status headwise_loader_core(const struct headwise_loader *loader,
                                          enum headwise_status status);
enum headwise_status headwise_loader_io(enum headwise_status status);

#endif
