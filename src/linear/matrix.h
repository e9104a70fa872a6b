/* A weight matrix, packed once into the panels that the kernels read. */
#ifndef HEADWISE_MATRIX_H
#define HEADWISE_MATRIX_H

#include "headwise/linear.h"
#include "kernels/kernels.h"

/* n columns (outputs) of k rows (inputs) in panels (kernels.h). */
struct headwise_matrix {
    void *panels;
    float *bias;   /* padded to whole panels, zeros where there is none */
    float *scales; /* I8: of each column, padded with zeros; else NULL */
    int32_t *sums; /* dynamic: of each column's integers; else NULL */
    int64_t
        group; /* dynamic: inputs that have scales and sums of their own; 0: all have the same */
    int64_t padded; /* from the scales, and sums, of a group to the next's */
    enum headwise_dtype dtype;
    /* I8 whose inputs are rounded to bytes too (dynamic.h): in each panel inputs lie together in
     * fours, or as many as the tier's products of bytes take (kernels/dot.h). Else 0. */
    int together;
    int64_t depth; /* inputs of a panel: k, or a multiple of together */
    int64_t k, n;
    size_t panels_bytes, bias_bytes;
    size_t scales_bytes; /* sums take as many */
};

/* Groups of inputs that have scales of their own. */
int64_t headwise_matrix_groups(const struct headwise_matrix *matrix);

/* From the first scale to that of input t, column 0. */
int64_t headwise_matrix_scale_at(const struct headwise_matrix *matrix, int64_t t);

/* Where the weights come from. */
struct headwise_matrix_source {
    const char *owner, *name; /* for errors: "mha", "w_q" */
    const void *weights;
    enum headwise_dtype dtype;
    enum headwise_layout layout;
    const float *scales;                /* one per output, or NULL; checked */
    const float *bias;                  /* or NULL */
    const struct headwise_dot *dynamic; /* products of bytes where inputs are rounded, or NULL */
    int64_t group;                      /* as in struct headwise_matrix; 0 where scales are given */
};

/* Floats between the rows of an output that whole panels are written to. */
int64_t headwise_matrix_padded(const struct headwise_kernels *kernels, int64_t n);

/* Packs weights of k inputs and n outputs (either may be 0) as dtype. HEADWISE_ERR_NO_MEMORY, or
 * HEADWISE_ERR_INVALID: a weight does not fit; *matrix is zero. Else headwise_matrix_destroy frees
 * it. */
enum headwise_status headwise_matrix_create(struct headwise_matrix *matrix,
                                            const struct headwise_kernels *kernels,
                                            const struct headwise_allocator *allocator,
                                            const struct headwise_matrix_source *source,
                                            enum headwise_dtype dtype, int64_t k, int64_t n);
void headwise_matrix_destroy(struct headwise_matrix *matrix,
                             const struct headwise_allocator *allocator);

/* Copies row t (0 ... k-1) of the weights as f32, n floats: input t's weight in every output. */
void headwise_matrix_row(float *dst, const struct headwise_matrix *matrix,
                         const struct headwise_kernels *kernels, int64_t t);

/* Copies all of it as f32, k * n numbers in the layout. */
void headwise_matrix_unpack(float *dst, const struct headwise_matrix *matrix,
                            const struct headwise_kernels *kernels, enum headwise_layout layout);

/* A part of a product: k inputs from t on of n columns from c on, one panel or whole panels. */
struct headwise_matrix_slice {
    const struct headwise_matrix *matrix;
    int64_t c, n, t, k;
    bool resume;       /* continues the chains that y holds */
    bool ends;         /* ends them: scales, then bias, follow */
    const float *bias; /* of column c on, or NULL */
};

/* m rows of x, stride floats apart, in row panels of row_panel rows (kernels.h). */
struct headwise_matrix_input {
    const float *x;
    int64_t stride;
    int row_panel;
    int64_t m;
};

/* y = that part for the rows of an input. buffer: k rows of the one
 * panel as f32, or NULL: panels are read as they are, which is better for few rows, and row_panel
 * is 1. The bits are the same. */
void headwise_matrix_multiply(const struct headwise_matrix_slice *slice,
                              const struct headwise_kernels *kernels, float *y, int64_t y_stride,
                              const struct headwise_matrix_input *input, float *buffer);

#endif
